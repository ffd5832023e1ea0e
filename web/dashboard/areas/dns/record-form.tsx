import { Select, SimpleGrid, Switch, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { api } from "../../api/client.ts";
import { FormModal } from "../../shared/form-modal.tsx";
import { inSentence } from "../../shared/text.ts";
import type { DnsRecord, Zone } from "./queries.ts";
import { formOf, RECORD_FORMS, requestOf, valuesOf, type RecordField } from "./record-types.ts";

interface FormValues {
  type: string;
  name: string;
  ttl: string;
  comment: string;
  proxied: boolean;
  fields: Record<string, string>;
}

const TTLS = [
  { value: "1", label: "Automatic" },
  { value: "60", label: "1 minute" },
  { value: "300", label: "5 minutes" },
  { value: "3600", label: "1 hour" },
  { value: "43200", label: "12 hours" },
  { value: "86400", label: "1 day" },
];

/** Creates a record, or edits `record`. */
export function RecordForm({
  zone,
  record,
  onClose,
  onSaved,
}: {
  zone: Zone;
  record?: DnsRecord;
  onClose: () => void;
  onSaved: (record: DnsRecord) => void;
}) {
  const form = useForm<FormValues>({
    initialValues:
      record === undefined
        ? { type: "A", name: "", ttl: "1", comment: "", proxied: false, fields: {} }
        : {
            type: record.type,
            name: relativeName(record.name, zone.name),
            ttl: String(record.ttl),
            comment: record.comment ?? "",
            proxied: record.proxied,
            fields: valuesOf(record.type, record),
          },
    validate: {
      fields: (_, { type, fields }) => {
        const missing = formOf(type).fields.find(({ name }) => (fields[name] ?? "").trim() === "");
        return missing === undefined ? null : missing.name;
      },
    },
  });
  const { type } = form.values;
  const { fields } = formOf(type);
  const ttls = TTLS.some(({ value }) => value === form.values.ttl)
    ? TTLS
    : [...TTLS, { value: form.values.ttl, label: `${form.values.ttl} seconds` }];

  async function save() {
    const { name, ttl, comment } = form.values;
    const body = {
      type,
      name: absoluteName(name.trim(), zone.name),
      ttl: Number(ttl),
      comment: comment === "" ? null : comment,
      ...requestOf(type, form.values.fields),
    };
    onSaved(
      record === undefined
        ? await api.post("/zones/{zone_id}/dns_records", { path: { zone_id: zone.id }, body })
        : await api.patch("/zones/{zone_id}/dns_records/{dns_record_id}", {
            path: { zone_id: zone.id, dns_record_id: record.id },
            body,
          }),
    );
  }

  const inputProps = ({ name, label, placeholder, description }: RecordField) => ({
    label,
    placeholder,
    description,
    autoComplete: "off",
    spellCheck: false,
    value: form.values.fields[name] ?? "",
    error:
      form.errors["fields"] === name
        ? `Enter a value for ${inSentence(label)}`
        : (form.errors[`data.${name}`] ?? form.errors[name]),
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => {
      form.setFieldValue("fields", { ...form.values.fields, [name]: currentTarget.value });
    },
  });

  return (
    <FormModal
      title={record === undefined ? "Create record" : "Edit record"}
      submitLabel={record === undefined ? "Create record" : "Save record"}
      opened
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && save()}
    >
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="sm">
        <Select
          label="Type"
          data={RECORD_FORMS.map((entry) => entry.type)}
          searchable
          disabled={record !== undefined}
          description={formOf(type).purpose}
          renderOption={({ option }) => (
            <span>
              <b>{option.value}</b> <span className="rp-dimmed">{formOf(option.value).purpose}</span>
            </span>
          )}
          comboboxProps={{ width: 360, position: "bottom-start" }}
          value={type}
          onChange={(value) => form.setValues({ type: value ?? "A", fields: {} })}
        />
        <TextInput
          label="Name"
          description={`@ stands for ${zone.name}`}
          placeholder="@"
          autoComplete="off"
          spellCheck={false}
          data-autofocus
          {...form.getInputProps("name")}
        />
      </SimpleGrid>
      {/* One or two fields fill the width; more are shown in two columns. */}
      <SimpleGrid cols={fields.length > 1 ? { base: 1, xs: 2 } : 1} spacing="sm" verticalSpacing="sm">
        {fields.map((field) =>
          field.kind === "long" ? (
            <Textarea key={field.name} autosize minRows={2} maxRows={8} {...inputProps(field)} />
          ) : (
            <TextInput
              key={field.name}
              {...(field.kind === "number" && { inputMode: "numeric" as const })}
              {...inputProps(field)}
            />
          ),
        )}
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="sm">
        <Select label="TTL" data={ttls} {...form.getInputProps("ttl")} />
        <TextInput label="Comment" maxLength={100} {...form.getInputProps("comment")} />
      </SimpleGrid>
      {record?.proxied === true && <Switch label="Proxied" checked disabled readOnly />}
    </FormModal>
  );
}

/** `www` in example.com is `www.example.com`; `@` is the zone itself. */
function absoluteName(name: string, zone: string): string {
  if (name === "" || name === "@") return zone;
  return name === zone || name.endsWith(`.${zone}`) ? name : `${name}.${zone}`;
}

export const relativeName = (name: string, zone: string): string =>
  name === zone ? "@" : name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : name;
