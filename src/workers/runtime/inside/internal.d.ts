/** Built into workerd for its own modules; `name` is the script name in stack traces. */
declare module "internal:unsafe-eval" {
  const unsafe: { eval(source: string, name: string): unknown };
  export default unsafe;
}

/** Internal functions behind the module `cloudflare:workers`. */
declare module "cloudflare-internal:workers" {
  const workers: { waitUntil(work: Promise<unknown>): void };
  export default workers;
}
