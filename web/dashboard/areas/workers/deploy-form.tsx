import { Select, Slider, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { FormModal } from "../../shared/form-modal.tsx";
import { useNotify } from "../../shared/use-notify.ts";
import { messageOf, shortId, workersKeys, type Deployment, type Version } from "./queries.ts";
import type { ScriptPath } from "./queries.ts";

/** Deploys versions with their shares of the requests, and reads the worker again. */
export const useDeploy =
  (path: ScriptPath) =>
  async (versions: { version_id: string; percentage: number }[], message: string): Promise<void> => {
    await api.post("/accounts/{account_id}/workers/scripts/{script_name}/deployments", {
      path,
      body: { versions, ...(message !== "" && { annotations: { "workers/message": message } }) },
    });
    await queryClient.invalidateQueries({ queryKey: workersKeys.worker(path) });
  };

/** Deploys one version, or two with a share of the requests each. */
export function DeployForm({
  path,
  versions,
  activeDeployment,
  onClose,
}: {
  path: ScriptPath;
  versions: readonly Version[];
  activeDeployment: Deployment | undefined;
  onClose: () => void;
}) {
  const newest = versions[0]!.id;
  const current = activeDeployment?.versions.find((deployed) => deployed.version_id !== newest)?.version_id ?? "";
  const [version, setVersion] = useState(newest);
  const [other, setOther] = useState(current);
  const [share, setShare] = useState(
    activeDeployment?.versions.find((deployed) => deployed.version_id === newest)?.percentage ?? 10,
  );
  const [message, setMessage] = useState("");
  const deploy = useDeploy(path);
  const notify = useNotify();
  const choices = versions.map((item) => ({
    value: item.id,
    label: [`Version ${item.number} (${shortId(item.id)})`, messageOf(item.annotations)].filter(Boolean).join(": "),
  }));
  const numberOf = (id: string) => versions.find((item) => item.id === id)?.number ?? shortId(id);
  const percentage = other === "" || other === version ? 100 : share;
  const shares = [
    { version_id: version, percentage },
    { version_id: other, percentage: 100 - percentage },
  ].filter((entry) => entry.percentage > 0);

  return (
    <FormModal
      title="Deploy versions"
      opened
      onClose={onClose}
      onSubmit={() => deploy(shares, message.trim()).then(() => notify.success("Versions deployed"))}
    >
      <Select label="Version" data={choices} value={version} onChange={(value) => setVersion(value ?? newest)} />
      <Select
        label="Remaining traffic"
        data={[{ value: "", label: "None: all requests go to the version above" }, ...choices]}
        value={other === version ? "" : other}
        onChange={(value) => setOther(value ?? "")}
      />
      {other !== "" && other !== version && (
        <div>
          <Text fz="sm" fw={500}>
            {share}% of the requests to version {numberOf(version)}, {100 - share}% to version {numberOf(other)}
          </Text>
          <Slider
            thumbLabel="Traffic share (%)"
            min={0}
            max={100}
            step={1}
            value={share}
            onChange={setShare}
            label={null}
            marks={[{ value: 0 }, { value: 10 }, { value: 25 }, { value: 50 }, { value: 75 }, { value: 100 }]}
            my="sm"
          />
        </div>
      )}
      <TextInput
        label="Message"
        placeholder="Reason for this deployment"
        maxLength={100}
        value={message}
        onChange={({ currentTarget }) => setMessage(currentTarget.value)}
      />
    </FormModal>
  );
}
