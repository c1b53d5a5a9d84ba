/* SPDX-License-Identifier: Apache-2.0 */
// C++ and Rust names for the tests: templates, namespaces, operators, lambdas, clones, and mangled Rust symbols.
#include <map>
#include <string>
#include <vector>

namespace geometry
{
template <class Number> struct Point {
	Number x, y;
	__attribute__((noinline)) Point operator+(const Point &other) const
	{
		return { Number(x + other.x), Number(y + other.y) };
	}
};

namespace
{
__attribute__((noinline)) int hidden(int value)
{
	return value * 17 + 3;
}
}

class Shape
{
    public:
	virtual ~Shape();
	virtual double area(const std::vector<Point<double>> &points) const;
};

Shape::~Shape() = default;

double Shape::area(const std::vector<Point<double>> &points) const
{
	Point<double> result{ 0, 0 };
	for (const auto &point : points)
		result = result + point;
	return result.x * hidden(int(result.y));
}
}

int count_words(std::map<std::string, int> &words, const std::string &text)
{
	auto add = [&](const std::string &word) __attribute__((noinline)) { return ++words[word]; };
	return add(text) + add(text + "s");
}

extern "C" {
// From the Rust reference, symbol mangling: legacy with a hash, and v0.
int rust_legacy() asm("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE");
int rust_legacy()
{
	return 1;
}
int rust_v0() asm("_RNvNtCs1234_7mycrate3foo3bar");
int rust_v0()
{
	return 2;
}
}
