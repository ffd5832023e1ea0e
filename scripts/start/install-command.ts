/** The properties of a machine that decide how to install a program. */
interface Machine {
  platform: NodeJS.Platform;
  isRoot: boolean;
  /** Returns true if a program is in PATH. */
  has(program: string): boolean;
}

/**
 * Package managers in order of preference, with the name of the package for ffmpeg with x264. `asRoot`: it must run as
 * root.
 */
const MANAGERS: { program: string; platforms: NodeJS.Platform[]; asRoot: boolean; install: string }[] = [
  { program: "apt-get", platforms: ["linux"], asRoot: true, install: "apt-get install -y ffmpeg bubblewrap" },
  { program: "apk", platforms: ["linux"], asRoot: true, install: "apk add ffmpeg bubblewrap" },
  { program: "pacman", platforms: ["linux"], asRoot: true, install: "pacman -S --needed ffmpeg bubblewrap" },
  { program: "zypper", platforms: ["linux"], asRoot: true, install: "zypper install ffmpeg bubblewrap" },
  { program: "nix-env", platforms: ["linux", "darwin"], asRoot: false, install: "nix-env -iA nixpkgs.ffmpeg" },
  { program: "conda", platforms: ["linux", "darwin"], asRoot: false, install: "conda install -c conda-forge ffmpeg" },
  { program: "brew", platforms: ["linux", "darwin"], asRoot: false, install: "brew install ffmpeg" },
  { program: "port", platforms: ["darwin"], asRoot: true, install: "port install ffmpeg" },
  { program: "winget", platforms: ["win32"], asRoot: false, install: "winget install Gyan.FFmpeg" },
  { program: "choco", platforms: ["win32"], asRoot: false, install: "choco install ffmpeg" },
];

/**
 * Returns the command that installs ffmpeg on this machine. Without root or sudo, a package manager that needs neither
 * is preferred. Undefined if no known package manager is installed.
 */
export function ffmpegInstallCommand({ platform, isRoot, has }: Machine): string | undefined {
  const usable = MANAGERS.filter(({ program, platforms }) => platforms.includes(platform) && has(program));
  const mayBeRoot = isRoot || has("sudo");
  const chosen = usable.find(({ asRoot }) => mayBeRoot || !asRoot) ?? usable[0];
  if (chosen === undefined) return undefined;
  return chosen.asRoot && !isRoot && platform !== "win32" ? `sudo ${chosen.install}` : chosen.install;
}
