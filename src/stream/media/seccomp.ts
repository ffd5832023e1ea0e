/** System calls that media programs do not need. Numbers above 400 are the same on all architectures. */
const COMMON_SYSCALLS = {
  pidfd_send_signal: 424,
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  pidfd_open: 434,
  pidfd_getfd: 438,
  mount_setattr: 442,
};
const ARCHITECTURES = {
  x64: {
    audit: 0xc000003e,
    clone: 56,
    clone3: 435,
    socket: 41,
    denied: {
      kill: 62,
      truncate: 76,
      ptrace: 101,
      setpgid: 109,
      setsid: 112,
      pivot_root: 155,
      chroot: 161,
      mount: 165,
      umount2: 166,
      init_module: 175,
      delete_module: 176,
      kexec_load: 246,
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      unshare: 272,
      perf_event_open: 298,
      open_by_handle_at: 304,
      setns: 308,
      process_vm_readv: 310,
      process_vm_writev: 311,
      finit_module: 313,
      bpf: 321,
      userfaultfd: 323,
    },
  },
  arm64: {
    audit: 0xc00000b7,
    clone: 220,
    clone3: 435,
    socket: 198,
    denied: {
      umount2: 39,
      mount: 40,
      pivot_root: 41,
      truncate: 45,
      chroot: 51,
      unshare: 97,
      kexec_load: 104,
      init_module: 105,
      delete_module: 106,
      ptrace: 117,
      kill: 129,
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      setpgid: 154,
      setsid: 157,
      perf_event_open: 241,
      open_by_handle_at: 265,
      setns: 268,
      process_vm_readv: 270,
      process_vm_writev: 271,
      finit_module: 273,
      bpf: 280,
      userfaultfd: 282,
    },
  },
};

/** linux/filter.h: BPF load, comparison and return instructions. */
const BPF_LOAD_WORD = 0x20,
  BPF_JUMP_EQUAL = 0x15,
  BPF_JUMP_AT_LEAST = 0x35,
  BPF_JUMP_ANY_BIT = 0x45,
  BPF_RETURN = 0x06;
/** linux/seccomp.h */
const KILL_PROCESS = 0x80000000,
  SECCOMP_ALLOW = 0x7fff0000;
const errnoAction = (errno: number) => 0x00050000 | errno;
const EPERM = 1,
  EACCES = 13,
  ENOSYS = 38;
/** Offsets in struct seccomp_data: nr, arch, and the low half of args[0]. */
const SYSCALL_NUMBER_OFFSET = 0,
  ARCHITECTURE_OFFSET = 4,
  FIRST_ARGUMENT_OFFSET = 16;
/** __X32_SYSCALL_BIT: set in system calls of the x32 ABI. */
const X32_SYSCALL_BIT = 0x40000000;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const NEW_NAMESPACES = 0x7e020000;

/**
 * Returns a seccomp filter, as struct sock_filter[]: denies new namespaces, mounts, keys, kernel modules, access to
 * other processes, leaving the process group (which is killed as a whole), opening files by handle, and, without
 * `network`, all sockets. Undefined on an unsupported processor.
 */
export function mediaFilter({ network }: { network: boolean }, arch: string = process.arch): Buffer | undefined {
  const numbers = ARCHITECTURES[arch as keyof typeof ARCHITECTURES];
  if (numbers === undefined) return undefined;
  const { audit, clone, clone3, socket, denied } = numbers;
  const refuseSyscall = (number: number, errno: number) => [
    instruction(BPF_JUMP_EQUAL, number, 0, 1),
    instruction(BPF_RETURN, errnoAction(errno)),
  ];
  return Buffer.concat([
    instruction(BPF_LOAD_WORD, ARCHITECTURE_OFFSET),
    instruction(BPF_JUMP_EQUAL, audit, 1, 0),
    instruction(BPF_RETURN, KILL_PROCESS),
    instruction(BPF_LOAD_WORD, SYSCALL_NUMBER_OFFSET),
    instruction(BPF_JUMP_AT_LEAST, X32_SYSCALL_BIT, 0, 1),
    instruction(BPF_RETURN, errnoAction(EPERM)),
    ...[...Object.values(denied), ...Object.values(COMMON_SYSCALLS)].flatMap((number) => refuseSyscall(number, EPERM)),
    ...(network ? [] : refuseSyscall(socket, EACCES)),
    // clone3 passes flags in memory, which a filter cannot read; libc falls back to clone() after ENOSYS.
    ...refuseSyscall(clone3, ENOSYS),
    instruction(BPF_JUMP_EQUAL, clone, 0, 3),
    instruction(BPF_LOAD_WORD, FIRST_ARGUMENT_OFFSET),
    instruction(BPF_JUMP_ANY_BIT, NEW_NAMESPACES, 0, 1),
    instruction(BPF_RETURN, errnoAction(EPERM)),
    instruction(BPF_RETURN, SECCOMP_ALLOW),
  ]);
}

function instruction(code: number, k: number, ifTrue = 0, ifFalse = 0): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(k >>> 0, 4);
  return bytes;
}
