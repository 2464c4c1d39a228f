import { Connection } from './connection.js';
import { RunningService, WorkingFolder } from './working-folder.js';

/** Starts the service on this port, and resolves once `/health/ready` says that it is. */
export async function startReady(
  folder: WorkingFolder,
  port: number,
  variables: Readonly<Record<string, string>>,
): Promise<RunningService> {
  const service = folder.start({ PORT: String(port), ...variables });
  let hasEnded = false;
  void service.ended().then(() => (hasEnded = true));
  while (!(await isReady(port))) {
    if (hasEnded) throw new Error(`The service ended: ${service.log}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return service;
}

/** Whether the service on this port is ready; no if there is none, or it does not answer within a second. */
export async function isReady(port: number): Promise<boolean> {
  try {
    return (await Connection.ask(port, 'GET /health/ready HTTP/1.1\r\nHost: x\r\n\r\n', false, 1_000)).status === 200;
  } catch {
    return false;
  }
}
