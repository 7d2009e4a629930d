// Templates, an exception that is caught, a closure.
#include <cstdio>
#include <stdexcept>
#include <unistd.h>

namespace shapes {
template <typename T> struct Box {
	T v;
	__attribute__((noinline)) T grow(T by) const
	{
		if (by > 5)
			throw std::runtime_error("too big");
		if (write(1, "grow\n", 5) < 0)
			return v;
		return v + by;
	}
};

template <typename T, int N> __attribute__((noinline)) T many(const Box<T> &b)
{
	T s = 0;

	for (int i = 0; i < N; i++)
		s += b.grow(i);
	return s;
}
}

int main()
{
	shapes::Box<double> b{2.5};

	try {
		std::printf("%g\n", shapes::many<double, 9>(b));
	} catch (const std::exception &e) {
		auto tell = [&](int n) __attribute__((noinline)) { return write(1, e.what(), n); };

		if (tell(7) < 0)
			return 1;
	}
	return 0;
}
