import type { Role } from '../platform/settings.ts';
import type { Finding } from './finding.ts';
import { type StoreName, type StoreStates, storeNames } from './StoreWatch.ts';

/** The stores that a role cannot do without. Without the others, the rest of its work continues. */
const needs: Record<Role, readonly StoreName[]> = {
  api: ['event_log'],
  projector: ['event_log', 'read_models'],
  webhooks: ['event_log', 'state_store'],
  heads: ['event_log', 'read_models', 'state_store'],
  mllp: ['event_log', 'state_store', 'document_store'],
};

/** The state of a process. */
export interface ProcessState {
  stores: StoreStates;
  /** Roles whose own thread reports that it is not making progress. */
  failingRoles: ReadonlySet<Role>;
  /** What operators should attend to in the process's work other than requests. */
  findings: Finding[];
}

/** What a process knows about itself. */
export interface ProcessHealth {
  roles: readonly Role[];
  /** Never rejects. */
  processState(): Promise<ProcessState>;
}

/** Whether a process can do its work. */
export interface Readiness {
  /** For `api` in a process that has that role, as requests are routed by it; otherwise for all its roles together. */
  ready: boolean;
  stores: StoreStates;
  /** What each of its roles can do. */
  roles: Partial<Record<Role, 'ready' | 'unavailable'>>;
  /** Stores that are unavailable while it is ready. */
  degraded: StoreName[];
  findings: Finding[];
}

/** Returns whether a process can do its work, given the current state of its stores. */
export async function readiness({ roles, processState }: ProcessHealth): Promise<Readiness> {
  const { stores, failingRoles, findings } = await processState();
  const can = (role: Role) => !failingRoles.has(role) && needs[role].every((store) => stores[store] === 'ok');
  const deciding = roles.includes('api') ? (['api'] as const) : roles;
  const ready = deciding.every(can);
  return {
    ready,
    stores,
    roles: Object.fromEntries(roles.map((role) => [role, can(role) ? 'ready' : 'unavailable'])),
    degraded: ready ? storeNames.filter((store) => stores[store] !== 'ok') : [],
    findings,
  };
}
