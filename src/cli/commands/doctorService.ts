import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { z } from 'zod';
import { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { headsStatus } from '../../modules/integrity/treeHeads.ts';
import { isDeliveryAllowed } from '../../modules/webhooks/settings.ts';
import { type DeliveryStatus, deliveryStatus } from '../../modules/webhooks/status.ts';
import { type Webhook, WebhookDirectory } from '../../modules/webhooks/webhook.ts';
import { type Config, listeningAddress } from '../../platform/config.ts';
import { isMissing, openStateStore } from '../../server/openStorage.ts';
import { certificateExpiry } from '../../server/upkeep.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { systemClock } from '../../storage/rateLimiters.ts';
import { count } from '../lib/terminal.ts';
import { type CheckResult, failed, ok, using, warn } from './doctorResults.ts';

const ASK_MS = 5_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** A certificate that is valid for less is worth attending to. */
const RENEW_DAYS = 14;
const OLD_MESSAGE_MS = 15 * MINUTE_MS;

const readinessSchema = z.object({
  roles: z.record(z.string(), z.string()),
  warnings: z.array(z.object({ code: z.string(), message: z.string() })).optional(),
});

/** Returns what `/readyz` of an address answers; undefined when nothing, or something else, answers there. */
async function askReadiness(url: string): Promise<z.infer<typeof readinessSchema> | undefined> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(ASK_MS) });
    return readinessSchema.safeParse(await response.json()).data;
  } catch {
    return undefined;
  }
}

/** Checks whether the process answers requests, and which of its roles can do their work. */
export async function checkService(config: Config): Promise<CheckResult[]> {
  const { host, port, metricsPort, metricsHost, production } = config;
  const found: CheckResult[] = [];
  // Port 0 is any free one: nobody knows which.
  if (port !== 0) found.push(...(await checkRoles(listeningAddress(host, port), config)));
  if (metricsPort === undefined && production) {
    const message = 'METRICS_PORT is not set, so no alert can fire. Set it, and have Prometheus read it.';
    found.push(warn('metrics', 'no_metrics', message));
  }
  if (metricsPort) found.push(...(await checkMetrics(listeningAddress(metricsHost, metricsPort))));
  return found;
}

async function checkRoles(url: string, { roles }: Config): Promise<CheckResult[]> {
  const answer = await askReadiness(url);
  if (answer === undefined) {
    const message = `No process answers at ${url} (HOST, PORT). Start it; if one is running, it does not respond: restart it, and see its log.`;
    return [failed('service', 'no_answer', message)];
  }
  const unavailable = Object.keys(answer.roles).filter((role) => answer.roles[role] !== 'ready');
  const missing = roles.filter((role) => !(role in answer.roles));
  const found = unavailable.map((role) =>
    failed(
      'service',
      'role_unavailable',
      `The role ${role} at ${url} cannot do its work. See the lines about stores here, and the log.`,
    ),
  );
  if (missing.length > 0) {
    const message = `The process at ${url} runs without ${missing.join(', ')}, which ROLES names here. Restart it if its settings were changed.`;
    found.push(warn('service', 'other_roles', message));
  }
  if (found.length > 0) return found;
  return [ok('service', `answers at ${url}; ready: ${Object.keys(answer.roles).join(', ')}`)];
}

async function checkMetrics(url: string): Promise<CheckResult[]> {
  const answer = await askReadiness(url);
  if (answer === undefined) {
    const message = `Nothing answers at ${url} (METRICS_HOST, METRICS_PORT), so alerts do not know this process. Start it, or correct the settings.`;
    return [warn('metrics', 'no_answer', message)];
  }
  const warnings = (answer.warnings ?? []).map(({ code, message }) => warn('metrics', code, message));
  return warnings.length > 0 ? warnings : [ok('metrics', `served at ${url}; no warnings`)];
}

/** Checks whether the public address of the service answers, and how long its certificate is valid. */
export async function checkPublicUrl({ publicUrl }: Config): Promise<CheckResult[]> {
  if (publicUrl === undefined) return [];
  const { protocol, hostname, port } = new URL(publicUrl);
  const found: CheckResult[] = [];
  if (protocol === 'https:') {
    const end = await certificateEnd(hostname, Number(port || 443));
    if (end !== undefined)
      found.push(validity('public_url', `The certificate of ${publicUrl}`, end, RENEWING));
  }
  const isThere = await askReadiness(publicUrl);
  if (isThere === undefined) {
    const message = `The service does not answer at ${publicUrl} (PUBLIC_URL) from this machine. Check the proxy in front of it, its certificate, and DNS.`;
    found.push(warn('public_url', 'no_answer', message));
  }
  const bad = found.filter(({ status }) => status !== 'ok');
  if (bad.length > 0) return bad;
  return found.length > 0 ? found : [ok('public_url', `${publicUrl} answers`)];
}

const RENEWING = 'Renew it where TLS ends.';

/** Returns when the certificate that an address presents expires, trusted or not; undefined when there is none. */
async function certificateEnd(host: string, port: number): Promise<number | undefined> {
  const socket = connectTls({ host, port, servername: host, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(ASK_MS) });
    const validTo = socket.getPeerX509Certificate()?.validTo;
    return validTo === undefined ? undefined : Date.parse(validTo);
  } catch {
    return undefined;
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}

function validity(check: string, what: string, end: number, advice: string): CheckResult {
  const left = end - systemClock.now();
  const day = new Date(end).toISOString().slice(0, 10);
  if (left <= 0) return failed(check, 'certificate_expired', `${what} expired on ${day}. ${advice}`);
  const days = Math.floor(left / DAY_MS);
  const message = `${what} is valid until ${day}, for ${days} days`;
  return days < RENEW_DAYS ? warn(check, 'certificate_expires', `${message}. ${advice}`) : ok(check, message);
}

/** If the process has the role `mllp`: checks its ports, and how long its certificates are valid. */
export async function checkMllpListener(config: Config): Promise<CheckResult[]> {
  const { roles, mllp } = config;
  if (!roles.includes('mllp')) return [];
  const ports = mllp.ports.filter((port) => port !== 0);
  const closed = await Promise.all(ports.map((port) => isClosed(mllp.host, port)));
  const found = ports
    .filter((_, index) => closed[index])
    .map((port) => {
      const message = `Nothing listens on port ${port} (MLLP_PORT): senders of HL7 cannot connect. Start a process with the role mllp.`;
      return failed('mllp_ports', 'no_answer', message);
    });
  const certificates = await certificateExpiry(config).catch(() => []);
  const advice = 'Replace the file: the service loads it within a minute.';
  const open = `something listens on ${ports.join(', ')}`;
  return [
    ...(found.length > 0 || ports.length === 0 ? found : [ok('mllp_ports', open)]),
    ...certificates.map(({ path, expiresAt }) => validity('certificates', path, expiresAt, advice)),
  ];
}

async function isClosed(host: string, port: number): Promise<boolean> {
  const { hostname } = new URL(listeningAddress(host, port));
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(ASK_MS) });
    return false;
  } catch {
    return true;
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}

/** If heads are sent: checks when they last were. */
export async function checkHeadsSent({
  headsTo,
  headsEveryMinutes,
  stateUrl,
}: Config): Promise<CheckResult[]> {
  if (headsTo === undefined || isMissing(stateUrl)) return [];
  const status = await using(openStateStore(stateUrl), headsStatus);
  const advice = 'Check that a process with the role heads is running, and that HEADS_TO can be written.';
  if (status === undefined) return [warn('heads', 'not_sent', `No heads were sent yet. ${advice}`)];
  if (status.problem !== null)
    return [warn('heads', 'not_sent', `The last heads could not be sent. ${status.problem}`)];
  const age = systemClock.now() - Date.parse(status.sent_at ?? status.tried_at);
  const last = `Heads were last sent at ${status.sent_at ?? status.tried_at}`;
  if (age <= 3 * headsEveryMinutes * MINUTE_MS) return [ok('heads', last)];
  return [warn('heads', 'old_heads', `${last}, and are due every ${headsEveryMinutes} minutes. ${advice}`)];
}

/** Checks whether messages of webhooks have been waiting for long, or were given up. */
export async function checkDeliveries(eventLog: EventLog, { stateUrl }: Config): Promise<CheckResult[]> {
  if (isMissing(stateUrl)) return [];
  const late = await using(WebhookDirectory.open(eventLog), (webhooks) =>
    using(KeyDirectory.open(eventLog), (keys) =>
      using(openStateStore(stateUrl), async (stateStore) => {
        const used = webhooks.all().filter((webhook) => isDeliveryAllowed(webhook, keys.known));
        const statuses = await deliveryStatus(eventLog, stateStore, used);
        return statuses.flatMap((status, index) => lateDeliveries(used[index] as Webhook, status));
      }),
    ),
  );
  return late.length > 0
    ? late
    : [ok('deliveries', 'no message of a webhook waits for long or was given up')];
}

function lateDeliveries({ id, workspace }: Webhook, status: DeliveryStatus): CheckResult[] {
  const { oldestPendingAt, failed: givenUp } = status;
  const options = `${id} --workspace ${workspace}`;
  const reason = `To see why: chartledger webhooks attempts ${options}`;
  const found: CheckResult[] = [];
  if (oldestPendingAt !== undefined && systemClock.now() - Date.parse(oldestPendingAt) > OLD_MESSAGE_MS)
    found.push(
      warn('deliveries', 'behind', `Messages of ${id} have waited since ${oldestPendingAt}. ${reason}`),
    );
  if (givenUp > 0) {
    const message = `${count(givenUp)} messages of ${id} were given up. ${reason}; to send them again: chartledger webhooks replay ${options} --failed`;
    found.push(warn('deliveries', 'given_up', message));
  }
  return found;
}
