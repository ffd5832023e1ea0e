import { aiLimits } from "./limits.ts";

/** Aborts its signal if `renew` is not called for `responseMs`. `firstMs` applies until the first call. */
export function createResponseTimeout(firstMs: number = aiLimits.responseMs) {
  const controller = new AbortController();
  const abortAfter = (ms: number) =>
    setTimeout(() => controller.abort(new Error(`no response within ${ms / 1000} s`)), ms);
  let timer = abortAfter(firstMs);
  return {
    signal: controller.signal,
    renew() {
      clearTimeout(timer);
      timer = abortAfter(aiLimits.responseMs);
    },
    end() {
      clearTimeout(timer);
      controller.abort();
    },
  };
}
