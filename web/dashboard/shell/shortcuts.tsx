import { Kbd, Modal, Table } from "@mantine/core";
import { navigation } from "../navigation.ts";
import { isMac } from "./platform.ts";

/** The list of keyboard shortcuts. */
export default function Shortcuts({ onClose }: { onClose: () => void }) {
  const rows: [keys: string[], what: string][] = [
    [[isMac ? "⌘" : "Ctrl", "K"], "Search pages and commands"],
    [["/"], "Search the list on this page"],
    [["?"], "Show this list"],
    ...navigation().flatMap(({ label, shortcut }): [string[], string][] =>
      shortcut === undefined ? [] : [[["g", shortcut], `Go to ${label}`]],
    ),
    [["Esc"], "Close a dialog"],
  ];
  return (
    <Modal opened onClose={onClose} title="Keyboard shortcuts" closeButtonProps={{ "aria-label": "Close" }}>
      <Table verticalSpacing={6}>
        <Table.Tbody>
          {rows.map(([keys, what]) => (
            <Table.Tr key={what}>
              <Table.Th scope="row" fw={400}>
                {what}
              </Table.Th>
              <Table.Td ta="end">
                {keys.map((key) => (
                  <Kbd key={key} ml={4} size="xs">
                    {key}
                  </Kbd>
                ))}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  );
}
