import { MultiSelect, NumberInput, SimpleGrid, TextInput } from "@mantine/core";
import { useState } from "react";
import { FormModal } from "../../../shared/form-modal.tsx";

/** The filters of a tail, as the form holds them. */
interface TailFilters {
  outcome: string[];
  method: string[];
  clientIp: string;
  /** `name` or `name:text in its value` */
  header: string;
  query: string;
  version: string;
  /** Percent. */
  sampling: number;
}

export const NO_FILTERS: TailFilters = {
  outcome: [],
  method: [],
  clientIp: "",
  header: "",
  query: "",
  version: "",
  sampling: 100,
};

export const OUTCOMES = [
  { value: "ok", label: "OK" },
  { value: "exception", label: "Exception" },
  { value: "exceededCpu", label: "CPU limit exceeded" },
  { value: "exceededMemory", label: "Memory limit exceeded" },
  { value: "canceled", label: "Canceled" },
  { value: "unknown", label: "Unknown" },
];
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/** Returns the filters as the API expects them; unused ones are left out. */
export function requestOf(filters: TailFilters): object[] {
  const { outcome, method, clientIp, header, query, version, sampling } = filters;
  const [key = "", ...rest] = header.split(":");
  const value = rest.join(":").trim();
  return [
    ...(outcome.length > 0 ? [{ outcome }] : []),
    ...(method.length > 0 ? [{ method }] : []),
    ...(clientIp.trim() !== "" ? [{ client_ip: clientIp.split(",").map((address) => address.trim()) }] : []),
    ...(key.trim() !== "" ? [{ header: { key: key.trim(), ...(value !== "" && { query: value }) } }] : []),
    ...(query !== "" ? [{ query }] : []),
    ...(version.trim() !== "" ? [{ scriptVersion: version.trim() }] : []),
    ...(sampling < 100 ? [{ sampling_rate: sampling / 100 }] : []),
  ];
}

/** The filters of `wrangler tail`. The server applies them. */
export function FilterForm({
  filters,
  onApply,
  onClose,
}: {
  filters: TailFilters;
  onApply: (filters: TailFilters) => void;
  onClose: () => void;
}) {
  const [values, setValues] = useState(filters);
  const change = (more: Partial<TailFilters>) => setValues({ ...values, ...more });
  const text = (name: "clientIp" | "header" | "query" | "version") => ({
    value: values[name],
    autoComplete: "off",
    spellCheck: false,
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => change({ [name]: currentTarget.value }),
  });
  return (
    <FormModal
      title="Filter logs"
      submitLabel="Apply filters"
      opened
      onClose={onClose}
      onSubmit={async () => onApply(values)}
    >
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="sm">
        <MultiSelect
          label="Outcome"
          data={OUTCOMES}
          value={values.outcome}
          onChange={(outcome) => change({ outcome })}
        />
        <MultiSelect label="Method" data={METHODS} value={values.method} onChange={(method) => change({ method })} />
        <TextInput label="Text in a log line" {...text("query")} />
        <TextInput label="Header" placeholder="name: text" {...text("header")} />
        <TextInput
          label="Client IP"
          description="self matches your own IP address."
          placeholder="self"
          inputWrapperOrder={["label", "input", "description", "error"]}
          {...text("clientIp")}
        />
        <TextInput label="Version ID" {...text("version")} />
        <NumberInput
          label="Sampling rate (%)"
          min={1}
          max={100}
          value={values.sampling}
          onChange={(sampling) => change({ sampling: Math.min(100, Math.max(1, Number(sampling) || 100)) })}
        />
      </SimpleGrid>
    </FormModal>
  );
}
