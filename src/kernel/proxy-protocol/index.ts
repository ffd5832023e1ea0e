export { readProxied } from "./read-header.ts";
export { createProxyReceiver, receiveProxied, type ProxyReceiver } from "./receive.ts";
