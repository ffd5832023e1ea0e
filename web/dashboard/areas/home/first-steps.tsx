import { Anchor, Paper, Text } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { Icon } from "../../shared/icon.tsx";
import { Section } from "../../shared/page.tsx";
import { homeKeys } from "./queries.ts";

interface Step {
  id: string;
  title: string;
  text: string;
  path: string;
  isDone: (account: string) => Promise<boolean>;
}

const ONE = { per_page: 1 };

const STEPS: readonly Step[] = [
  {
    id: "zone",
    title: "Create a zone",
    text: "A domain needs a zone before it can receive mail, run workers or serve videos.",
    path: "/dns",
    isDone: async (account) => (await api.get("/zones", { query: { per_page: 5, "account.id": account } })).length > 0,
  },
  {
    id: "routing",
    title: "Enable Email Routing",
    text: "The server then receives mail for the domain, and forwards it or passes it to a worker.",
    path: "/mail",
    isDone: async (account) =>
      (await api.get("/accounts/{account_id}/email/routing/zones", { path: { account_id: account } })).some(
        ({ enabled }) => enabled,
      ),
  },
  {
    id: "worker",
    title: "Deploy a worker",
    text: "Run npx wrangler deploy in a project, or upload a script.",
    path: "/workers",
    isDone: async (account) =>
      (await api.get("/accounts/{account_id}/workers/scripts", { path: { account_id: account }, query: ONE })).length >
      0,
  },
  {
    id: "video",
    title: "Upload a video",
    text: "The server encodes it for all devices and provides an embeddable player.",
    path: "/stream",
    isDone: async (account) =>
      (
        (await api.get("/accounts/{account_id}/stream", {
          path: { account_id: account },
          query: { limit: 1 },
        })) as unknown[]
      ).length > 0,
  },
  {
    id: "password",
    title: "Set a password or add a passkey",
    text: "Then you can sign in without a sign-in link.",
    path: "/settings",
    async isDone() {
      const [{ enabled }, passkeys] = await Promise.all([api.get("/user/password"), api.get("/user/passkeys")]);
      return enabled || passkeys.length > 0;
    },
  },
];

/** Getting-started checklist. Hidden when all steps are done or none can be read. */
export function FirstSteps() {
  const { id: account } = useAccount();
  const results = useQueries({
    queries: STEPS.map(({ id, isDone }) => ({
      queryKey: [...homeKeys.steps, id, account],
      queryFn: () => isDone(account),
      // The caller may lack the permission: the step is then left out.
      retry: false,
    })),
  });
  const steps = STEPS.map((step, index) => ({ ...step, done: results[index]!.data })).filter(
    ({ done }) => done !== undefined,
  );
  if (results.some(({ isPending }) => isPending) || steps.every(({ done }) => done === true)) return null;
  const count = steps.filter(({ done }) => done === true).length;
  return (
    <Section title="First steps" description={`${count} of ${steps.length} done`}>
      <Paper p={0}>
        <ol className="rp-home-steps">
          {steps.map(({ id, title, text, path, done }) => (
            <li key={id} data-done={done}>
              <span className="rp-home-step-mark">{done === true && <Icon name="check" size={13} />}</span>
              <div>
                {done === true ? (
                  <Text fz="sm" c="dimmed">
                    {title} <span className="rp-visually-hidden">(done)</span>
                  </Text>
                ) : (
                  <>
                    <Anchor renderRoot={(props) => <Link to={path} {...props} />} fz="sm" fw={500}>
                      {title}
                    </Anchor>
                    <Text fz="sm" c="dimmed">
                      {text}
                    </Text>
                  </>
                )}
              </div>
            </li>
          ))}
        </ol>
      </Paper>
    </Section>
  );
}
