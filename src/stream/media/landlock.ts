/**
 * Perl, included in every Debian, makes the system calls that Node cannot, then executes the program: landlock(7) for
 * files, seccomp(2) for the rest. It needs no privilege and no namespace, so it works in containers. Arguments:
 * Landlock on (1) or off (0), the seccomp filter in hex, descriptors of readable files, descriptor of the writable
 * folder ("" for none), paths of devices, the program's real path, and the command. Landlock's system call numbers are the same on all
 * processors; the number of prctl(2) differs. Exits with 126 and a line on stderr if confinement fails.
 */
const SCRIPT = String.raw`
my ($files, $filter, $reads, $writes, $devices, $program) = splice @ARGV, 0, 6;
my $prctl = PRCTL;
sub must { my ($result, $what) = @_; return $result if $result != -1; print STDERR "confine: $what: $!\n"; exit 126 }
must(syscall($prctl, 38, 1, 0, 0, 0), "no_new_privs");
if ($files) {
  my $abi = must(syscall(444, 0, 0, 1), "landlock");
  my $all = 0x1fff | ($abi >= 2 ? 0x2000 : 0) | ($abi >= 3 ? 0x4000 : 0) | ($abi >= 5 ? 0x8000 : 0);
  my $rules = pack("QQQ", $all, 0, $abi >= 6 ? 3 : 0);
  my $set = must(syscall(444, $rules, $abi >= 6 ? 24 : $abi >= 4 ? 16 : 8, 0), "landlock ruleset");
  my $allow = sub { my ($fd, $rights) = @_; my $rule = pack("Ql", $rights & $all, $fd); must(syscall(445, $set, 1, $rule, 0), "landlock rule") };
  for my $path (qw(/usr /bin /lib /lib64 /nix/store /etc/alternatives /etc/ld.so.cache /dev/null /dev/zero /dev/urandom), $program) {
    sysopen(my $handle, $path, 0x280000) or next;
    $allow->(fileno($handle), -d $handle ? 0xd : $path =~ m{^/dev/} ? 0x6 : 0x5);
  }
  for my $path (length $devices ? ("/sys", split /,/, $devices) : ()) {
    sysopen(my $handle, $path, 0x280000) or next;
    $allow->(fileno($handle), $path eq "/sys" ? 0xc : -d $handle ? 0x800e : 0x8006);
  }
  $allow->($_ + 0, 0x4) for split /,/, $reads;
  $allow->($writes + 0, 0x612e) if length $writes;
  must(syscall(446, $set, 0), "landlock");
}
my $bytes = pack("H*", $filter);
my $call = pack("S x6 P", length($bytes) / 8, $bytes);
must(syscall($prctl, 22, 2, $call), "seccomp");
exec { $ARGV[0] } @ARGV;
print STDERR "confine: $ARGV[0]: $!\n";
exit 127;
`;
const PRCTL: Record<string, number> = { x64: 157, arm64: 167 };

interface PerlSandboxOptions {
  filter: Buffer;
  /** True if Landlock restricts file access; false: file permissions only. */
  files: boolean;
  /** Inherited descriptors of readable files. */
  reads: readonly number[];
  writes: number | undefined;
  /**
   * Device files and folders that may be read, written and controlled by ioctl(2). If there are any, /sys may also be
   * read, where drivers find the properties of the device.
   */
  devices: readonly string[];
  /** Real path of the program. */
  program: string;
}

/** Arguments that precede the command. */
export const perlSandboxArgs = (
  perl: string,
  { filter, files, reads, writes, devices, program }: PerlSandboxOptions,
  arch: string = process.arch,
): string[] => [
  perl,
  "-e",
  SCRIPT.replace("PRCTL", String(PRCTL[arch])),
  files ? "1" : "0",
  filter.toString("hex"),
  reads.join(","),
  writes === undefined ? "" : String(writes),
  devices.join(","),
  program,
];
