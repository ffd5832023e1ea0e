/** Apple keyboards have a Command key where others have Ctrl. */
export const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);
