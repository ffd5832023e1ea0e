import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { buffer } from "node:stream/consumers";

/** The verifiers behind `dkimverify` and `arcverify` (dkimpy), with a DNS table instead of the system resolver. */

const PYTHON = "/usr/bin/python3";
export const hasDkimpy = existsSync("/usr/bin/dkimverify") && existsSync(PYTHON);

const PROGRAM = `
import sys, json, dkim
table = json.loads(sys.argv[1])
message = sys.stdin.buffer.read()
def txt(name, timeout=5):
    text = table.get((name.decode() if isinstance(name, bytes) else name).rstrip("."))
    return None if text is None else text.encode()
count = message[:message.find(b"\\r\\n\\r\\n")].lower().count(b"\\r\\ndkim-signature:") + message.lower().startswith(b"dkim-signature:")
cv, results, reason = dkim.arc_verify(message, dnsfunc=txt)
def holds(i):
    try:
        return dkim.DKIM(message).verify(idx=i, dnsfunc=txt)
    except dkim.ValidationError:
        return False
signatures = [holds(i) for i in range(count)]
print(json.dumps({"dkim": signatures, "arc": None if cv is None else cv.decode(), "sets": len(results), "reason": reason}))
`;

/** Verifies a message with dkimpy. `dkim`: whether each signature is valid, from the top. */
export async function verifyWithDkimpy(
  raw: string,
  dns: Record<string, unknown[] | Error>,
): Promise<{ dkim: boolean[]; arc: string | null; sets: number; reason: string }> {
  const table = Object.fromEntries(
    Object.entries(dns).flatMap(([key, value]) =>
      key.endsWith(" TXT") && Array.isArray(value) ? [[key.slice(0, -4), (value as string[][])[0]!.join("")]] : [],
    ),
  );
  const child = spawn(PYTHON, ["-c", PROGRAM, JSON.stringify(table)], {
    stdio: ["pipe", "pipe", "pipe"],
    timeout: 60_000,
  });
  child.stdin.end(Buffer.from(raw, "latin1"));
  const [out, err] = await Promise.all([buffer(child.stdout), buffer(child.stderr)]);
  if (out.length === 0) throw new Error(err.toString());
  return JSON.parse(out.toString()) as Awaited<ReturnType<typeof verifyWithDkimpy>>;
}
