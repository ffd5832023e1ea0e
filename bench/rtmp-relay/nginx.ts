import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { BenchContext } from "../harness/bench.ts";
import { freePort, waitForPort } from "../smtp-accept/ports.ts";

interface NginxRtmp {
  version: string;
  port: number;
  /** Process id of the master; the worker is its child. */
  pid: number;
}

const MODULE = "/usr/lib/nginx/modules/ngx_rtmp_module.so";

/** nginx with nginx-rtmp in its usual relay setup: one worker, no recording, no HLS, no access log. */
export async function startNginxRtmp(kit: BenchContext): Promise<NginxRtmp> {
  if (!existsSync(MODULE))
    throw new Error("nginx-rtmp is not installed: apt-get install nginx-light libnginx-mod-rtmp");
  const version = await promisify(execFile)("dpkg-query", ["-W", "-f", "${Version}", "libnginx-mod-rtmp"]).then(
    ({ stdout }) => stdout,
    () => "unknown",
  );
  const port = await freePort();
  const config = join(kit.dir, "nginx.conf");
  await writeFile(config, configuration({ port, dir: kit.dir }));
  const master = spawn("nginx", ["-c", config, "-e", join(kit.dir, "nginx-error.log")], { stdio: "ignore" });
  const ended = new Promise<void>(
    (resolve) => void master.once("exit", () => resolve()).once("error", () => resolve()),
  );
  kit.onStop(async () => {
    master.kill("SIGTERM");
    await ended;
  });
  await waitForPort(port, ended);
  return { version, port, pid: master.pid! };
}

const configuration = ({ port, dir }: { port: number; dir: string }) => `daemon off;
load_module ${MODULE};
worker_processes 1;
${process.getuid?.() === 0 ? "user root;\n" : ""}pid ${dir}/nginx.pid;
error_log ${dir}/nginx-error.log warn;
events { worker_connections 256; }
rtmp {
  access_log off;
  server {
    listen 127.0.0.1:${port};
    chunk_size 65536;
    application live { live on; }
  }
}
`;
