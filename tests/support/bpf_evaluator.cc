#include "support/bpf_evaluator.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace podjail::test {

std::uint32_t evaluate(std::span<const sock_filter> program, const seccomp_data& data) {
  std::uint32_t a = 0, x = 0;
  std::array<std::uint32_t, BPF_MEMWORDS> memory{};
  for (std::size_t pc = 0; pc < program.size(); ++pc) {
    const sock_filter& op = program[pc];
    const std::uint32_t operand = BPF_SRC(op.code) == BPF_X ? x : op.k;
    const auto jump_if = [&](bool taken) { pc += taken ? op.jt : op.jf; };
    switch (BPF_CLASS(op.code)) {
      case BPF_LD:
        if (op.code == (BPF_LD | BPF_W | BPF_ABS)) {
          if (op.k % 4 != 0 || op.k + 4 > sizeof data) throw std::runtime_error("load outside seccomp_data");
          std::memcpy(&a, reinterpret_cast<const char*>(&data) + op.k, 4);
        } else if (op.code == (BPF_LD | BPF_IMM)) {
          a = op.k;
        } else if (op.code == (BPF_LD | BPF_MEM)) {
          a = memory.at(op.k);
        } else {
          throw std::runtime_error("load that seccomp refuses");
        }
        break;
      case BPF_LDX:
        x = BPF_MODE(op.code) == BPF_IMM ? op.k : memory.at(op.k);
        break;
      case BPF_ST:
        memory.at(op.k) = a;
        break;
      case BPF_STX:
        memory.at(op.k) = x;
        break;
      case BPF_ALU:
        switch (BPF_OP(op.code)) {
          case BPF_AND:
            a &= operand;
            break;
          case BPF_OR:
            a |= operand;
            break;
          case BPF_XOR:
            a ^= operand;
            break;
          case BPF_ADD:
            a += operand;
            break;
          case BPF_SUB:
            a -= operand;
            break;
          default:
            throw std::runtime_error("arithmetic that the evaluator lacks");
        }
        break;
      case BPF_JMP:
        switch (BPF_OP(op.code)) {
          case BPF_JA:
            pc += op.k;
            break;
          case BPF_JEQ:
            jump_if(a == operand);
            break;
          case BPF_JGT:
            jump_if(a > operand);
            break;
          case BPF_JGE:
            jump_if(a >= operand);
            break;
          case BPF_JSET:
            jump_if((a & operand) != 0);
            break;
          default:
            throw std::runtime_error("unknown jump");
        }
        break;
      case BPF_RET:
        return BPF_RVAL(op.code) == BPF_A ? a : op.k;
      default:
        throw std::runtime_error("class " + std::to_string(BPF_CLASS(op.code)));
    }
  }
  throw std::runtime_error("the program runs off its end");
}

std::uint32_t most_restrictive(std::uint32_t first_loaded, std::uint32_t last_loaded) {
  const auto rank = [](std::uint32_t action) {
    return static_cast<std::int32_t>(action & SECCOMP_RET_ACTION_FULL);
  };  // KILL_PROCESS is negative
  return rank(last_loaded) <= rank(first_loaded) ? last_loaded : first_loaded;
}

seccomp_data call(int number, std::array<std::uint64_t, 6> args, std::uint32_t arch) {
  seccomp_data data{};
  data.nr = number;
  data.arch = arch;
  std::memcpy(data.args, args.data(), sizeof data.args);
  return data;
}

}  // namespace podjail::test
