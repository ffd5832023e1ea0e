import type { Mutation } from "./mutation.ts";

const STORE_TEST = "src/mail/inbox/store.test.ts";
const DEV_TEST = "test/e2e/dev-inbox.test.ts";

export const mutations: Mutation[] = [
  {
    file: "src/mail/inbox/store.ts",
    from: "flushing = flushing.then(prune);",
    to: "",
    test: STORE_TEST,
  },
  {
    file: "src/mail/inbox/messages-table.ts",
    from: 'eb("account_id", "=", account),',
    to: "",
    test: STORE_TEST,
  },
  {
    file: "src/mail/inbox/waiters.ts",
    from: "waiter.isChanged = true;",
    to: "",
    test: STORE_TEST,
  },
  {
    file: "src/mail/inbox/recorder.ts",
    from: "parent: mail.inbound?.source ?? causeOf(mail),",
    to: "parent: undefined,",
    test: DEV_TEST,
  },
  {
    file: "src/api/routes/email/inbox.ts",
    from: "const fetchLink = query.private ? fetchPrivate : fetch;",
    to: "const fetchLink = fetchPrivate;",
    test: DEV_TEST,
  },
];
