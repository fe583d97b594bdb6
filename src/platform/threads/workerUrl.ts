/**
 * Returns the address of a worker's module next to the caller's, whether that runs as TypeScript or as emitted
 * JavaScript.
 */
export function workerUrl(name: string, callerUrl: string): URL {
  return new URL(`./${name}${callerUrl.endsWith('.ts') ? '.ts' : '.js'}`, callerUrl);
}
