#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/safetensors.h>
#include <unistd.h>

#include <cstring>

namespace spex {
namespace {

namespace fs = std::filesystem;

std::string container(const std::string& header, size_t data_bytes) {
  uint64_t length = header.size();
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text + header + std::string(data_bytes, '\1');
}

std::string refusal(const std::string& file) {
  try {
    Safetensors::parse(std::as_bytes(std::span(file)), nullptr, "x.safetensors");
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

void expect_refusal(const std::string& file, const std::string& part) {
  std::string message = refusal(file);
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_NE(message.find("x.safetensors"), std::string::npos) << message;
}

class SafetensorsFile : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("spex_tensors_" + std::to_string(::getpid()));
  }
  void TearDown() override { fs::remove(path_); }
  fs::path path_;
};

TEST_F(SafetensorsFile, WhatIsWrittenIsRead) {
  std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  std::vector<uint8_t> bytes = {7, 8, 9};
  std::vector<uint64_t> longs = {1ULL << 60};
  std::vector<uint16_t> halves = {0x3c00};
  std::vector<TensorSource> sources = {
      tensor<uint8_t>("bytes", bytes, {3}, Dtype::boolean), tensor<float>("f", floats, {2, 3}),
      tensor<uint16_t>("half", halves, {1}, Dtype::f16), tensor<uint64_t>("longs", longs, {1}),
      tensor<float>("nothing", {}, {0, 5})};
  write_safetensors(path_, sources, {{"kind", "test \"quoted\""}});

  auto file = Safetensors::open(path_);
  EXPECT_EQ(file.metadata().at("kind"), "test \"quoted\"");
  auto f = file.array<float>("f", {2, 3});
  EXPECT_EQ(std::vector<float>(f.begin(), f.end()), floats);
  EXPECT_EQ(file.array<uint8_t>("bytes")[2], 9);
  EXPECT_EQ(file.array<uint64_t>("longs")[0], 1ULL << 60);
  EXPECT_EQ(file.array<uint16_t>("half")[0], 0x3c00);
  EXPECT_EQ(file.array<float>("nothing").size(), 0U);
  EXPECT_EQ(file.info("f").dtype, Dtype::f32);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file.array<uint64_t>("longs").data()) % 64, 0U);
}

TEST_F(SafetensorsFile, ArraysOutliveTheFileObject) {
  std::vector<int32_t> values = {4, 5};
  write_safetensors(path_, std::vector{tensor<int32_t>("a", values, {2})});
  SharedArray<int32_t> array = Safetensors::open(path_).array<int32_t>("a");
  fs::remove(path_);
  EXPECT_EQ(array[1], 5);
}

TEST_F(SafetensorsFile, WrongTypeShapeOrNameIsASentence) {
  std::vector<float> values = {1, 2};
  write_safetensors(path_, std::vector{tensor<float>("a", values, {2})});
  auto file = Safetensors::open(path_);
  EXPECT_THROW(file.array<double>("a"), Error);
  EXPECT_THROW(file.array<int32_t>("a"), Error);
  EXPECT_THROW(file.array<float>("b"), Error);
  EXPECT_THROW(file.array<float>("a", {1, 2}), Error);
  EXPECT_THROW(write_safetensors(path_, std::vector{tensor<float>("a", values, {3})}), Error);
  auto twice = tensor<float>("a", values, {2});
  EXPECT_THROW(write_safetensors(path_, std::vector{twice, twice}), Error);
}

TEST(SafetensorsHeader, MisalignedArraysAreCopied) {
  std::string file = container(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                               R"("b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
                               1);
  float value = 2.5F;
  file.append(reinterpret_cast<const char*>(&value), 4);
  auto parsed = Safetensors::parse(std::as_bytes(std::span(file)), nullptr, "x");
  EXPECT_EQ(parsed.array<float>("b")[0], 2.5F);
}

TEST(SafetensorsHeader, RejectsEveryKindOfDamage) {
  auto one = [](const std::string& entry, size_t bytes) {
    return container("{\"a\":" + entry + "}", bytes);
  };
  expect_refusal("", "only 0 bytes");
  expect_refusal("abc", "only 3 bytes");
  expect_refusal(std::string(20, '\xff'), "declares a header");
  expect_refusal(container("{]", 0), "not JSON");
  expect_refusal(container("[]", 0), "not an object");
  expect_refusal(container(R"({"__metadata__": 3})", 0), "metadata");
  expect_refusal(container(R"({"__metadata__": {"k": 3}})", 0), "metadata 'k'");
  expect_refusal(one("3", 0), "array 'a'");
  expect_refusal(one(R"({"dtype":"F31","shape":[1],"data_offsets":[0,4]})", 4), "F31");
  expect_refusal(one(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", 4), "shape");
  expect_refusal(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})", 3), "cut short");
  expect_refusal(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})", 5), "end at byte 4");
  expect_refusal(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4), "8 bytes");
  expect_refusal(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", 4), "begin and an end");
  expect_refusal(one(R"({"dtype":"F32","shape":[1],"data_offsets":[1,5]})", 5), "starts at byte 1");
  expect_refusal(one(R"({"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]})", 0),
                 "absurd");
  expect_refusal(one(R"({"shape":[1],"data_offsets":[0,4]})", 4), "no dtype");
  expect_refusal(one(R"({"dtype":"F32","data_offsets":[0,4]})", 4), "no shape");
}

}  // namespace
}  // namespace spex
