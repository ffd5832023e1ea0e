import { Select, Switch, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { FormModal } from "../../shared/form-modal.tsx";
import { useNotify } from "../../shared/use-notify.ts";
import { actionOf, ActionFields, missingTarget, valuesOfAction, type ActionValues } from "./action-fields.tsx";
import { mailKeys, type Rule } from "./queries.ts";

interface FormValues extends ActionValues {
  name: string;
  matcher: "literal" | "glob" | "regex";
  pattern: string;
  enabled: boolean;
}

const MATCHERS = [
  { value: "literal", label: "Address" },
  { value: "glob", label: "Pattern with * and ?" },
  { value: "regex", label: "Regular expression" },
];

/** Creates a rule, or replaces `rule`. */
export function RuleForm({
  domain,
  zoneId,
  rule,
  onClose,
}: {
  domain: string;
  zoneId: string;
  rule?: Rule;
  onClose: () => void;
}) {
  const notify = useNotify();
  const matcher = rule?.matchers[0];
  const form = useForm<FormValues>({
    initialValues: {
      name: rule?.name ?? "",
      matcher: matcher === undefined || matcher.type === "all" ? "literal" : matcher.type,
      pattern: matcher?.value ?? "",
      enabled: rule?.enabled ?? true,
      ...valuesOfAction(rule?.actions[0]),
    },
    validate: {
      pattern: (text) => (text.trim() === "" ? "Enter an address or a pattern" : null),
      targets: (_, values) => missingTarget(values),
    },
  });
  const { matcher: kind } = form.values;

  async function save() {
    const { name, pattern, enabled } = form.values;
    const text = pattern.trim();
    const value = kind === "regex" || text.includes("@") ? text : `${text}@${domain}`;
    const body = {
      name: name.trim(),
      enabled,
      matchers: [{ type: kind, field: "to", value }],
      actions: [actionOf(form.values)],
      ...(rule !== undefined && { priority: rule.priority }),
    };
    await (rule === undefined
      ? api.post("/zones/{zone_id}/email/routing/rules", { path: { zone_id: zoneId }, body })
      : api.put("/zones/{zone_id}/email/routing/rules/{rule_identifier}", {
          path: { zone_id: zoneId, rule_identifier: rule.id },
          body,
        }));
    notify.success(rule === undefined ? "Rule created" : "Rule saved");
    await queryClient.invalidateQueries({ queryKey: mailKeys.rules(zoneId) });
  }

  return (
    <FormModal
      title={rule === undefined ? "Create rule" : "Edit rule"}
      submitLabel={rule === undefined ? "Create rule" : "Save rule"}
      opened
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && save()}
    >
      <Select label="Match" data={MATCHERS} allowDeselect={false} {...form.getInputProps("matcher")} />
      <TextInput
        label={kind === "literal" ? "Address" : kind === "glob" ? "Pattern" : "Regular expression"}
        placeholder={
          kind === "regex" ? `^ticket-[0-9]+@${domain.replaceAll(".", "\\.")}$` : kind === "glob" ? "sales-*" : "hello"
        }
        {...(kind !== "regex" && { description: `Without @, the server adds @${domain}.` })}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
        {...form.getInputProps("pattern")}
      />
      <ActionFields form={form as never} />
      <TextInput
        label="Name"
        description="Optional. Shown in the rule list and the mail log."
        {...form.getInputProps("name")}
      />
      <Switch label="Enabled" {...form.getInputProps("enabled", { type: "checkbox" })} />
    </FormModal>
  );
}
