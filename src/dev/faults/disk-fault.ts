import type { Spool, Transport } from "../../mail/index.ts";
import { storeErrors, type ObjectStore } from "../../store/index.ts";

/** Simulates a full disk: reads succeed, writes of messages and objects fail. Databases are not affected. */
export interface DiskFault {
  setFull(isFull: boolean): void;
  objects(objects: ObjectStore): ObjectStore;
  spool(spool: Spool): Spool;
  intercept(transport: Transport): Transport;
}

export function createDiskFault(): DiskFault {
  let isFull = false;

  function check() {
    if (isFull) throw Object.assign(new Error("simulated: no space left on device"), { code: "ENOSPC" });
  }
  function checkObject(key: string) {
    if (isFull) throw storeErrors.diskFull({ what: key });
  }

  return {
    setFull: (value) => void (isFull = value),
    objects: (objects) => ({
      ...objects,
      async put(key, ...rest) {
        checkObject(key);
        return objects.put(key, ...rest);
      },
      async copy(from, to) {
        checkObject(to);
        return objects.copy(from, to);
      },
      partial(key) {
        const partial = objects.partial(key);
        return {
          ...partial,
          async append(...appended) {
            checkObject(key);
            return partial.append(...appended);
          },
        };
      },
    }),
    spool: (spool) => ({
      ...spool,
      async collect(...collected) {
        check();
        return spool.collect(...collected);
      },
    }),
    intercept: (transport) => ({
      async deliver(mail, signal) {
        if (!isFull) return transport.deliver(mail, signal);
        const reply = { code: 452, enhanced: "4.3.1", text: "simulated: insufficient storage" };
        return mail.to.map((rcpt) => ({ rcpt, ok: false, temporary: true, reply }));
      },
    }),
  };
}
