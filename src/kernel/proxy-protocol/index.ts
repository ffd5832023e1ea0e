export { readProxied } from "./read-header.ts";
export { createProxyReceiver, enableProxyProtocol, type ProxyReceiver } from "./receive.ts";
