// workerd rejects jurisdictions, which the hosted service supports. Here, all objects are on one machine, so a
// jurisdiction is accepted and has no effect. This module runs before the worker's code.
import { env } from "cloudflare:workers";

type Namespace = Pick<DurableObjectNamespace, "newUniqueId" | "jurisdiction">;

const prototype = Object.values((env as object | undefined) ?? {})
  .map((binding: unknown) =>
    typeof binding === "object" && binding !== null ? (Object.getPrototypeOf(binding) as object | null) : null,
  )
  .find((candidate) => candidate?.constructor.name === "DurableObjectNamespace") as Namespace | undefined;

if (prototype !== undefined) {
  // oxlint-disable-next-line typescript/unbound-method
  const { newUniqueId } = prototype;
  Object.defineProperties(prototype, {
    newUniqueId: {
      value(this: Namespace): DurableObjectId {
        return newUniqueId.call(this as DurableObjectNamespace);
      },
      writable: true,
      configurable: true,
    },
    jurisdiction: {
      value(this: Namespace): Namespace {
        return this;
      },
      writable: true,
      configurable: true,
    },
  });
}
