import { execFile, spawn } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { BenchContext } from "../harness/bench.ts";
import { freePort, waitForPort } from "../smtp-accept/ports.ts";

interface Nginx {
  version: string;
  url: string;
  /** Process id of the master; the worker is its child. */
  pid: number;
}

/**
 * nginx in a typical file server setup: one worker, sendfile, keep-alive, no access log. Serves the files of `root` by
 * name.
 */
export async function startNginx(kit: BenchContext, root: string): Promise<Nginx> {
  const { stderr } = await promisify(execFile)("nginx", ["-v"]).catch((err: unknown) => {
    throw new Error("nginx is not installed: apt-get install nginx-light", { cause: err });
  });
  const port = await freePort();
  const config = join(kit.dir, "nginx.conf");
  // If nginx is started by root, its worker runs as another user and needs access to the files.
  for (
    let folder = kit.dir;
    folder !== "/" && process.getuid?.() === 0 && folder.startsWith(kit.dir);
    folder = join(folder, "..")
  )
    await chmod(folder, 0o711);
  await writeFile(config, configuration({ root, port, dir: kit.dir }));
  const master = spawn("nginx", ["-c", config, "-e", join(kit.dir, "nginx-error.log")], { stdio: "ignore" });
  const ended = new Promise<void>(
    (resolve) => void master.once("exit", () => resolve()).once("error", () => resolve()),
  );
  kit.onStop(async () => {
    master.kill("SIGTERM");
    await ended;
  });
  await waitForPort(port, ended);
  return { version: /nginx\/(\S+)/.exec(stderr)![1]!, url: `http://127.0.0.1:${port}`, pid: master.pid! };
}

const configuration = ({ root, port, dir }: { root: string; port: number; dir: string }) => `daemon off;
worker_processes 1;
${process.getuid?.() === 0 ? "user root;\n" : ""}pid ${dir}/nginx.pid;
error_log ${dir}/nginx-error.log warn;
events { worker_connections 256; }
http {
  types { video/mp4 mp4 m4s; }
  sendfile on;
  tcp_nopush on;
  tcp_nodelay on;
  keepalive_timeout 60;
  keepalive_requests 1000000;
  access_log off;
  client_body_temp_path ${dir}/nginx-body;
  proxy_temp_path ${dir}/nginx-proxy;
  fastcgi_temp_path ${dir}/nginx-fastcgi;
  uwsgi_temp_path ${dir}/nginx-uwsgi;
  scgi_temp_path ${dir}/nginx-scgi;
  server {
    listen 127.0.0.1:${port};
    root ${root};
    etag on;
    location / {
      add_header Access-Control-Allow-Origin *;
      add_header Cache-Control "public, max-age=604800, immutable";
    }
  }
}
`;
