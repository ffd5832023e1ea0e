import { readFileSync, readlinkSync } from "node:fs";
import { endianness } from "node:os";

/**
 * Returns the local address of an inherited TCP socket, as getsockname(2) returns it; Node offers this only for its own
 * listeners. "local" for other socket families. Linux only, like socket activation. Undefined if unknown.
 */
export function addressOfSocket(fd: number): string | "local" | undefined {
  try {
    const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
    if (inode === undefined) return undefined;
    const row = (table: string, column: number) =>
      readFileSync(`/proc/self/net/${table}`, "latin1")
        .split("\n")
        .map((line) => line.trim().split(/\s+/))
        .find((fields) => fields[column] === inode);
    // proc(5): in tcp and tcp6, column 2 is the local address and column 10 the inode; in unix, column 7 is the inode.
    const local = (row("tcp", 9) ?? row("tcp6", 9))?.[1]?.split(":")[0];
    if (local !== undefined) return addressOfHex(local);
    return row("unix", 6) === undefined ? undefined : "local";
  } catch {
    return undefined;
  }
}

/** Parses an address from proc(5), which prints each 32-bit word in host byte order. */
export function addressOfHex(hex: string, order: "LE" | "BE" = endianness()): string {
  const bytes = Buffer.from(hex, "hex");
  if (order === "LE") bytes.swap32();
  if (bytes.length === 4) return bytes.join(".");
  // An IPv4-mapped IPv6 address (RFC 4291 2.5.5.2) is converted to IPv4.
  if (bytes.subarray(0, 10).every((byte) => byte === 0) && bytes.readUInt16BE(10) === 0xffff)
    return bytes.subarray(12).join(".");
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(i * 2).toString(16)).join(":");
  return new URL(`http://[${groups}]`).hostname.slice(1, -1);
}
