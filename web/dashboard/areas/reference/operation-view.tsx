import { Code, Group, Stack, Text, Title } from "@mantine/core";
import { CopyButton } from "../../shared/copy.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import type { Operation } from "./document.ts";
import { fieldsOf, typeOf, type Field } from "./schema.ts";
import { TryIt } from "./try-it.tsx";

/** One operation: request, response, and a form that sends it. */
export function OperationView({ operation }: { operation: Operation }) {
  const { method, path, summary, permission, body, result, responseType } = operation;
  return (
    <article className="rp-reference-operation" aria-label={summary}>
      <Stack gap={6} mb="lg">
        <Title order={2}>{summary}</Title>
        <Group gap="xs" wrap="nowrap" align="center">
          <MethodName method={method} />
          <code className="rp-reference-path">{path}</code>
          <CopyButton value={path} label="Copy path" />
        </Group>
        {permission !== undefined && (
          <Text fz="sm" c="dimmed">
            Requires the permission <StatusBadge>{permission}</StatusBadge>
          </Text>
        )}
      </Stack>
      <TryIt key={operation.id} operation={operation} />
      {body !== undefined && <Fields title="Body" type={typeOf(body)} fields={fieldsOf(body)} />}
      {responseType === "application/json" ? (
        <Fields title="Result" type={typeOf(result)} fields={fieldsOf(result)} />
      ) : (
        <section className="rp-reference-section">
          <Title order={3}>Response</Title>
          <Text fz="sm">
            <Code>{responseType === "" ? "no content" : responseType}</Code>
          </Text>
        </section>
      )}
    </article>
  );
}

export const MethodName = ({ method }: { method: Operation["method"] }) => (
  <span className="rp-reference-method" data-method={method}>
    {method.toUpperCase()}
  </span>
);

function Fields({ title, type, fields }: { title: string; type: string; fields: readonly Field[] }) {
  return (
    <section className="rp-reference-section">
      <Title order={3}>
        {title}{" "}
        <Text span fz="xs" c="dimmed" fw={400}>
          {type}
        </Text>
      </Title>
      {fields.length > 0 && (
        <ul className="rp-reference-fields">
          {fields.map(({ path, depth, name, type: fieldType, isRequired, notes }) => (
            <li key={path} data-depth={depth}>
              <code>{name}</code>
              <span className="rp-reference-type">{fieldType}</span>
              {isRequired && title === "Body" && <span className="rp-reference-required">required</span>}
              {notes !== "" && <span className="rp-reference-notes">{notes}</span>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
