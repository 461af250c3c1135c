#include "python/python_version.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "python/ref.h"
#include "sys/fd.h"

namespace podjail::python {
namespace {

// A read-only view of a file, so that only the pages that are looked at are read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    size_ = static_cast<std::size_t>(status.st_size);
    data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (data_ == MAP_FAILED) size_ = 0;
  }
  ~MappedFile() {
    if (size_ > 0) ::munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > size_ || size_ - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, static_cast<const char*>(data_) + offset, sizeof value);
    return value;
  }
  bool text_is(std::uint64_t offset, std::string_view text) const {
    return offset <= size_ && size_ - offset > text.size() &&
           std::memcmp(static_cast<const char*>(data_) + offset, text.data(), text.size() + 1) == 0;
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

struct Tables {
  std::uint64_t symbols = 0, strings = 0, hash = 0;  // virtual addresses
};

std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

}  // namespace

// By the GNU hash table (gabi's DT_GNU_HASH, https://flapenguin.me/elf-dt-gnu-hash): bucket, then its chain, whose last entry has bit 0
// set.
std::optional<std::uint32_t> python_version_of(const std::string& elf_file) {
  const MappedFile file(elf_file);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) return std::nullopt;
  const auto file_offset = [&](std::uint64_t address) -> std::uint64_t {
    for (unsigned i = 0; i < header->e_phnum; ++i) {
      const auto segment = file.at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
      if (segment && segment->p_type == PT_LOAD && address >= segment->p_vaddr && address - segment->p_vaddr < segment->p_filesz) {
        return address - segment->p_vaddr + segment->p_offset;
      }
    }
    return UINT64_MAX;
  };
  Tables tables;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = file.at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment || segment->p_type != PT_DYNAMIC) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment->p_filesz; at += sizeof(Elf64_Dyn)) {
      const auto entry = file.at<Elf64_Dyn>(segment->p_offset + at);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_SYMTAB) tables.symbols = entry->d_un.d_ptr;
      if (entry->d_tag == DT_STRTAB) tables.strings = entry->d_un.d_ptr;
      if (entry->d_tag == DT_GNU_HASH) tables.hash = entry->d_un.d_ptr;
    }
  }
  if (tables.symbols == 0 || tables.strings == 0 || tables.hash == 0) return std::nullopt;
  const std::uint64_t symbols = file_offset(tables.symbols), strings = file_offset(tables.strings), hash = file_offset(tables.hash);
  const auto bucket_count = file.at<std::uint32_t>(hash), first = file.at<std::uint32_t>(hash + 4),
             bloom = file.at<std::uint32_t>(hash + 8);
  if (!bucket_count || *bucket_count == 0 || !first || !bloom) return std::nullopt;
  const std::uint64_t buckets = hash + 16 + std::uint64_t{*bloom} * 8, chains = buckets + std::uint64_t{*bucket_count} * 4;
  constexpr std::string_view kName = "Py_Version";
  const std::uint32_t wanted = gnu_hash(kName);
  const auto bucket = file.at<std::uint32_t>(buckets + std::uint64_t{wanted % *bucket_count} * 4);
  if (!bucket || *bucket < *first) return std::nullopt;
  for (std::uint64_t index = *bucket;; ++index) {
    const auto chain = file.at<std::uint32_t>(chains + (index - *first) * 4);
    if (!chain) return std::nullopt;
    if ((*chain | 1U) == (wanted | 1U)) {
      const auto symbol = file.at<Elf64_Sym>(symbols + index * sizeof(Elf64_Sym));
      if (symbol && symbol->st_shndx != SHN_UNDEF && file.text_is(strings + symbol->st_name, kName)) {
        const auto value = file.at<std::uint64_t>(file_offset(symbol->st_value));  // const unsigned long
        return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
      }
    }
    if ((*chain & 1U) != 0) return std::nullopt;
  }
}

std::string version_text(std::uint32_t hex) {
  return std::to_string(hex >> 24U) + "." + std::to_string((hex >> 16U) & 0xFFU) + "." + std::to_string((hex >> 8U) & 0xFFU);
}

Expected<void> check_python_version(const std::string& python_executable) {
  auto theirs = python_version_of(python_executable);
  if (!theirs) {  // as in python:X.Y images: PREFIX/bin/python3.11 and PREFIX/lib/libpython3.11.so.1.0
    char* const real = ::realpath(python_executable.c_str(), nullptr);
    const std::string path = real != nullptr ? real : "";
    std::free(real);
    const std::size_t bin = path.rfind("/bin/");
    if (bin == std::string::npos) return {};
    theirs = python_version_of(path.substr(0, bin) + "/lib/libpython" + std::to_string(PY_MAJOR_VERSION) + "." +
                               std::to_string(PY_MINOR_VERSION) + ".so.1.0");
  }
  const auto ours = static_cast<std::uint32_t>(Py_Version);
  if (!theirs || (*theirs >> 8U) == (ours >> 8U)) return {};
  constexpr bool kStatic = std::string_view(PODJAIL_PYTHON_LINK) == "static";
  return fail("podjail-python is Python " + version_text(ours) + ", but the standard library here belongs to Python " +
              version_text(*theirs) + " (" + python_executable + "): " +
              (kStatic ? "build podjail-python from that Python, or with PODJAIL_PYTHON_LINK=shared"
                       : "let it load that Python's libpython (LD_LIBRARY_PATH, or build it on that Python)"));
}

}  // namespace podjail::python
