import type { Role } from '../settings.ts';
import type { Finding } from './finding.ts';
import { type StoreName, type StoreStates, storeNames } from './StoreWatch.ts';

/** What a role cannot do without. Without the others the rest of its work goes on. */
const needs: Record<Role, readonly StoreName[]> = {
  api: ['event_log'],
  projector: ['event_log', 'read_models'],
  webhooks: ['event_log', 'state_store'],
  heads: ['event_log', 'read_models', 'state_store'],
  mllp: ['event_log', 'state_store', 'document_store'],
};

/** How a process does. */
export interface ProcessState {
  stores: StoreStates;
  /** Roles whose own thread tells that it does not get on. */
  failingRoles: ReadonlySet<Role>;
  /** What operators should see to, of what the process does beside its requests. */
  findings: Finding[];
}

/** What a process knows of itself. */
export interface ProcessHealth {
  roles: readonly Role[];
  /** Never rejects. */
  processState(): Promise<ProcessState>;
}

/** Whether a process can do its work. */
export interface Readiness {
  /** Of `api` in a process that has that role, as requests go by it; else of all its roles together. */
  ready: boolean;
  stores: StoreStates;
  /** What each of its roles can do. */
  roles: Partial<Record<Role, 'ready' | 'unavailable'>>;
  /** Stores that are away while it is ready. */
  degraded: StoreName[];
  findings: Finding[];
}

/** Whether a process can do its work, by the present state of its stores. */
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
