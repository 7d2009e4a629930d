# A C++ program with exceptions through several frames, threads, iostreams and a map, that ends by an uncaught exception. Deterministic.
set -eu
cat >prog.cc <<'CXX'
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Step {
	std::string name;
	explicit Step(std::string n) : name(std::move(n)) {}
	~Step() { std::cout << "leave " << name << std::endl; }
};

template <typename T> static T checked(const std::map<std::string, T> &m, const std::string &key)
{
	Step s(key);
	return m.at(key);
}

__attribute__((noinline)) static int deep(const std::map<std::string, int> &m, int n)
{
	Step s(std::to_string(n));
	return n ? deep(m, n - 1) + 1 : checked(m, "missing");
}

int main()
{
	std::map<std::string, int> m = { { "a", 1 }, { "b", 2 } };
	std::vector<std::thread> t;
	for (int i = 0; i < 3; i++)
		t.emplace_back([&m, i] {
			try {
				deep(m, i);
			} catch (const std::out_of_range &) {
				m.size();
			}
		});
	for (auto &x : t) {
		x.join();
		std::cout << "joined" << std::endl;
	}
	try {
		deep(m, 5);
	} catch (const std::exception &e) {
		std::cout << "caught " << e.what() << std::endl;
	}
	auto last = std::make_unique<Step>("last");
	if (checked(m, "b") == 2)
		throw std::runtime_error("nobody catches this");
}
CXX
g++ -g -O1 -fno-optimize-sibling-calls -pthread -o prog prog.cc
# threads print in any order
./prog >out 2>err || echo "status $?"
sort out
grep what err
ulimit -c 0
exec ./prog >/dev/null 2>&1
