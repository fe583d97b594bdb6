/**
 * Ends this worker thread, whose work is done: a connection that a driver left open must not keep it, and with it the
 * shutdown of the service, waiting.
 */
export function endThread(): never {
  process.exit();
}
