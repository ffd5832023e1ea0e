import { Notifications, notifications } from "@mantine/notifications";

export { notifications };

/** Toast container. */
export default function NotificationArea() {
  return <Notifications position="bottom-right" limit={4} autoClose={5000} />;
}
