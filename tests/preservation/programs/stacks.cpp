// SPDX-License-Identifier: Apache-2.0
// A C++ program with names worth keeping in a capture: templates, lambdas, operators, virtual functions, exceptions,
// namespaces, and functions of the standard library. Runs for about half a second.
#include <algorithm>
#include <ctime>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace model
{

struct layer {
	virtual ~layer() = default;
	virtual double operator()(const std::vector<double> &values) const = 0;
};

template <typename number, int scale> struct scaled : layer {
	__attribute__((noinline)) double operator()(const std::vector<double> &values) const override
	{
		number sum = 0;
		for (int turn = 0; turn < scale; turn++)
			for (double value : values)
				sum += static_cast<number>(value * turn);
		return static_cast<double>(sum);
	}
};

namespace
{

__attribute__((noinline)) double failing(double value)
{
	try {
		if (value >= 0)
			throw std::runtime_error("expected");
	} catch (const std::exception &error) {
		return static_cast<double>(std::string(error.what()).size());
	}
	return value;
}

__attribute__((noinline)) double counted(const std::vector<double> &values)
{
	std::map<std::string, int> counts;
	for (double value : values)
		counts[std::to_string(static_cast<int>(value) % 50)]++;
	return static_cast<double>(counts.size());
}

} // namespace

double run(const std::function<double(const std::vector<double> &)> &part, const std::vector<double> &values)
{
	std::clock_t end = std::clock() + CLOCKS_PER_SEC * 12 / 100;
	double sum = 0;
	while (std::clock() < end)
		sum += part(values);
	return sum;
}

} // namespace model

int main()
{
	std::vector<double> values(5000);
	for (size_t i = 0; i < values.size(); i++)
		values[i] = static_cast<double>((i * 7919) % 1000);
	model::scaled<float, 20> floats;
	model::scaled<long, 20> longs;
	double sum = model::run(std::cref(static_cast<const model::layer &>(floats)), values);
	sum += model::run(std::cref(static_cast<const model::layer &>(longs)), values);
	sum += model::run(
		[](std::vector<double> copy) {
			std::sort(copy.begin(), copy.end(), [](double left, double right) { return left < right; });
			return copy.front();
		},
		values);
	sum += model::run([](const std::vector<double> &) { return model::failing(1); }, values);
	sum += model::run(model::counted, values);
	return sum < 0;
}
