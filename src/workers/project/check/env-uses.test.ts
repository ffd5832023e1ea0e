import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { findEnvUses } from "./env-uses.ts";
import { maskSource } from "./mask.ts";

const uses = (source: string) =>
  findEnvUses("index.ts", source).map(({ name, line, column, members }) =>
    [`${name} ${line}:${column}`, ...members].join(" "),
  );

test("finds reads of env with their position and member", () => {
  assert.deepEqual(
    uses(`import { EmailMessage } from "cloudflare:email";
export default {
  async email(message, env: Env, ctx) {
    await env.SEB.send(new EmailMessage());
    await env["KV"].put("a", "b");
    const url = \`\${env.URL}/path\`;
    const all = [...env.LIST];
    env . DB ! .prepare("x");
  },
};`),
    ["SEB 4:11 send", "KV 5:11 put", "URL 6:20", "LIST 7:21", "DB 8:5 prepare"],
  );
});

test("recognizes this.env in a platform class, and destructuring everywhere", () => {
  assert.deepEqual(
    uses(`import { WorkerEntrypoint, env } from "cloudflare:workers";
export default class extends WorkerEntrypoint {
  async email() { await this.env.SEB.send(); env.TOP.get("x"); other.env.NOT; const { KV, DB: db, MODE = "x" } = this.env; db.exec("y"); KV.get("z"); }
}`),
    ["SEB 3:25 send", "TOP 3:46 get", "KV 3:87 get", "DB 3:91 exec"],
  );
  assert.deepEqual(
    uses("export default { async fetch(request, { BUCKET, TOKEN }: Env) { return BUCKET.head(TOKEN) } };"),
    ["BUCKET 1:41 head", "TOKEN 1:49"],
  );
  assert.deepEqual(uses("class A { run() { this.env.OWN.get() } }"), []);
});

test("ignores code that does not read a binding", () => {
  for (const source of [
    "process.env.HOME; import.meta.env.MODE; config.env.X",
    "if (env.DEBUG) console.log(env.DEBUG)",
    "env.OPTIONAL?.send(); env?.MAYBE.x; const a = env.A ?? 1; const b = env.B || 2; const c = env.C ? 1 : 2; !env.D; typeof env.E",
    "env.SET = 1; env.call(); env.toString; env.hasOwnProperty",
    "const env = process.env; env.HOME.length",
    'import { env } from "./config"; env.URL.length',
    'import env from "x"; env.URL.length',
    "// env.COMMENT.x\n/* env.BLOCK.x */ 'env.S.x'; \"env.D.x\"; `env.T.x`; /env.R.x/.test(a); a = /[/]env.R2.x/g",
    "myenv.X.y; env_.Y.z; $env.Z.a",
  ])
    assert.deepEqual(uses(source), [], source);
});

const real = fc.stringMatching(/^[A-Z]{2,5}$/).map((name) => `${name}_`);
const noise = fc.constantFrom(
  "// env.FAKE.x 'it`s\n",
  "/* env.FAKE.x ' ` \n */",
  "'env.FAKE.x \\' // '",
  '"env.FAKE.x `"',
  "`env.FAKE.x ' \\` // `",
  "`a${ 1 + `env.FAKE.x` }b`",
  "(/env.FAKE.x['\"`]/)",
  "(a / b / c)",
  "x = /['\"`]/g",
  "`${'}'}`",
  "({ a: { b: 1 } })",
);
test("code around a read does not change the result", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          noise.map((text) => ({ text, name: undefined })),
          real.map((name) => ({ text: `env.${name}.get()`, name })),
          real.map((name) => ({ text: `\`x\${env.${name}.get()}'\``, name })),
        ),
      ),
      (parts) => {
        const source = parts.map(({ text }) => `${text};\n`).join("");
        assert.deepEqual(
          findEnvUses("a", source).map(({ name }) => name),
          parts.flatMap(({ name }) => name ?? []),
          source,
        );
      },
    ),
  );
});

test("the mask preserves every offset", () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.constantFrom("'", '"', "`", "$", "{", "}", "/", "*", "\\", "\n", "a", "(", ")", "env.X", "[", "]"),
      }),
      (source) => {
        const masked = maskSource(source);
        assert.equal(masked.length, source.length);
        for (const [i, char] of [...masked].entries())
          assert.ok(char === " " || char === source[i], `${i} of ${JSON.stringify(source)}`);
        assert.equal(masked.split("\n").length, source.split("\n").length);
      },
    ),
  );
});

test("does not treat a call of fetch with options as a handler", () => {
  assert.deepEqual(uses(`export default { async email(message, env) { await fetch(url, { method, body }); } };`), []);
  assert.deepEqual(
    uses("export default { async email(message, { SEB }: { SEB: SendEmail }, ctx) { SEB.send(1); } };"),
    ["SEB 1:41 send"],
  );
});
