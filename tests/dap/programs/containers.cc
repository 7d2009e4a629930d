// Containers of the standard library, inheritance and exceptions.
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Base {
	virtual ~Base() = default;
	virtual int value() const { return id; }
	int id = 1;
};

struct Derived : Base {
	int value() const override { return id + extra; } // in value
	int extra = 41;
};

template <typename T> T twice(T x)
{
	return x + x; // in twice
}

static int risky(int n)
{
	if (n == 3)
		throw std::runtime_error("three is too many"); // the throw
	return n;
}

int main()
{
	std::vector<int> numbers;
	std::map<std::string, int> ages{ { "ann", 31 }, { "bob", 42 } };
	std::string name = "hermit";
	std::unique_ptr<Base> base = std::make_unique<Derived>();
	int caught = 0;

	for (int i = 0; i < 20; i++)
		numbers.push_back(i * i); // the push
	ages["eve"] = twice(numbers[3]);
	for (int i = 0; i < 5; i++) {
		try {
			risky(i);
		} catch (const std::exception &e) {
			caught++; // the catch
		}
	}
	std::cout << name << " " << numbers.size() << " " << ages.size() << " " << base->value() << " " << caught << "\n"; // the end
	return 0;
}
