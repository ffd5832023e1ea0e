import { Button, Group, SegmentedControl, Select, SimpleGrid, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useAccount } from "../../api/account.ts";
import { appInfo } from "../../api/app-info.ts";
import { CodeView } from "../../shared/code-view.tsx";
import { ConfirmModal } from "../../shared/confirm-button.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { Bytes } from "../../shared/format.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import type { Operation, Parameter } from "./document.ts";
import { curlOf, fetchOf, type RequestValues } from "./examples.ts";
import { notesOf, sampleOf, typeOf } from "./schema.ts";
import { sendRequest, type RequestResponse } from "./send-request.ts";

/** A request to the operation: its values, the same request as code, and the response. */
export function TryIt({ operation }: { operation: Operation }) {
  const { id: accountId } = useAccount();
  const hasBody = operation.body !== undefined || !/^(get|delete)$/.test(operation.method);
  const isJson = operation.body !== undefined;
  const [params, setParams] = useState<Record<string, string>>({ account_id: accountId });
  const [query, setQuery] = useState<Record<string, string>>({});
  const [body, setBody] = useState(() => (isJson ? JSON.stringify(sampleOf(operation.body), null, 2) : ""));
  const [language, setLanguage] = useState<"curl" | "fetch">("curl");
  const [isConfirming, setConfirming] = useState(false);
  const [response, setResponse] = useState<RequestResponse>();
  const [error, setError] = useState<unknown>();
  const [isRunning, setRunning] = useState(false);
  const controller = useRef<AbortController>(undefined);
  useEffect(() => () => controller.current?.abort(), []);

  const request: RequestValues = {
    method: operation.method,
    path: operation.path,
    params,
    query,
    body: hasBody ? body.trim() : "",
    isJson,
  };
  const pathParameters = operation.parameters.filter((parameter) => parameter.in === "path");
  const queryParameters = operation.parameters.filter((parameter) => parameter.in === "query");
  const missing = pathParameters.filter(({ name }) => (params[name] ?? "") === "").map(({ name }) => name);
  const bodyError = isJson ? jsonError(body, operation.isBodyRequired) : undefined;

  async function send() {
    controller.current = new AbortController();
    setRunning(true);
    setError(undefined);
    setResponse(undefined);
    try {
      setResponse(await sendRequest(request, controller.current.signal, setResponse));
    } catch (err) {
      if (!controller.current.signal.aborted) setError(err);
    } finally {
      setRunning(false);
    }
  }

  const example = language === "curl" ? curlOf(request, appInfo().urls.api) : fetchOf(request, appInfo().urls.api);
  return (
    <Stack gap="md">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (operation.method === "delete") setConfirming(true);
          else void send();
        }}
      >
        <Stack gap="sm">
          {[...pathParameters, ...queryParameters].length > 0 && (
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" verticalSpacing="sm">
              {pathParameters.map((parameter) => (
                <ParameterField
                  key={parameter.name}
                  parameter={parameter}
                  value={params[parameter.name] ?? ""}
                  onChange={(value) => setParams({ ...params, [parameter.name]: value })}
                />
              ))}
              {queryParameters.map((parameter) => (
                <ParameterField
                  key={parameter.name}
                  parameter={parameter}
                  value={query[parameter.name] ?? ""}
                  onChange={(value) => setQuery({ ...query, [parameter.name]: value })}
                />
              ))}
            </SimpleGrid>
          )}
          {hasBody && (
            <Textarea
              label={isJson ? "JSON body" : "Body"}
              description={
                isJson
                  ? undefined
                  : "The body is sent as is. To send files or form data, use a command-line client such as curl."
              }
              autosize
              minRows={2}
              maxRows={16}
              value={body}
              error={bodyError}
              spellCheck={false}
              classNames={{ input: "rp-reference-body" }}
              onChange={({ currentTarget }) => setBody(currentTarget.value)}
            />
          )}
          <Group gap="sm">
            <Button type="submit" loading={isRunning} disabled={missing.length > 0 || bodyError !== undefined}>
              Send request
            </Button>
            {isRunning && (
              <Button variant="default" onClick={() => controller.current?.abort()}>
                Stop
              </Button>
            )}
            <Text fz="sm" c="dimmed">
              {missing.length > 0 ? `Enter ${missing.join(", ")}.` : "The request has the permissions of your session."}
            </Text>
          </Group>
        </Stack>
      </form>
      <ConfirmModal
        action="Send DELETE request"
        opened={isConfirming}
        onClose={() => setConfirming(false)}
        onConfirm={send}
      >
        The request deletes data of this server: {operation.summary}.
      </ConfirmModal>
      {error !== undefined && <ErrorState error={error} title="The request failed" />}
      {response !== undefined && <Response response={response} />}
      <div>
        <Group justify="space-between" mb={6}>
          <Text fz="sm" fw={600}>
            Example
          </Text>
          <SegmentedControl
            aria-label="Language of the example"
            value={language}
            onChange={(value) => setLanguage(value as "curl" | "fetch")}
            data={[
              { value: "curl", label: "curl" },
              { value: "fetch", label: "JavaScript" },
            ]}
          />
        </Group>
        <CodeView label="Example" text={example} wrap />
      </div>
    </Stack>
  );
}

function ParameterField({
  parameter: { name, schema, required = false },
  value,
  onChange,
}: {
  parameter: Parameter;
  value: string;
  onChange: (value: string) => void;
}) {
  const options = schema?.enum?.map(String) ?? (schema?.type === "boolean" ? ["true", "false"] : undefined);
  const notes = notesOf(schema);
  if (options !== undefined)
    return (
      <Select
        label={name}
        withAsterisk={required}
        description={notes || undefined}
        data={options}
        value={value === "" ? null : value}
        clearable={!required}
        clearButtonProps={{ "aria-label": `Clear ${name}` }}
        onChange={(selected) => onChange(selected ?? "")}
      />
    );
  return (
    <TextInput
      label={name}
      withAsterisk={required}
      description={notes || undefined}
      placeholder={typeOf(schema)}
      value={value}
      spellCheck={false}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

function Response({ response: { status, milliseconds, type, text, size, isCut } }: { response: RequestResponse }) {
  return (
    <div role="status">
      <Group gap="sm" mb={6}>
        <StatusBadge tone={status < 300 ? "good" : status < 500 ? "warning" : "bad"}>{status}</StatusBadge>
        <Text fz="sm" c="dimmed">
          {milliseconds} ms, <Bytes value={size} />
          {type === "" ? "" : `, ${type.split(";", 1)[0]}`}
          {isCut ? ", cut" : ""}
        </Text>
      </Group>
      {text !== undefined && text !== "" && <CodeView label="Response" text={text} />}
      {text === undefined && size > 0 && <Text fz="sm">Binary data. Save it with the command below and --output.</Text>}
    </div>
  );
}

function jsonError(body: string, isRequired: boolean): string | undefined {
  if (body.trim() === "") return isRequired ? "The operation requires a body." : undefined;
  try {
    JSON.parse(body);
    return undefined;
  } catch (err) {
    return err instanceof Error ? err.message : "Not valid JSON.";
  }
}
