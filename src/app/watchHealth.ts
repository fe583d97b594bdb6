import type { Logger } from 'pino';
import { ClockWatch } from '../health/ClockWatch.ts';
import { clockProblem } from '../health/clockProblem.ts';
import type { Finding } from '../health/finding.ts';
import { ReadModelWatch } from '../health/ReadModelWatch.ts';
import type { ProcessState } from '../health/readiness.ts';
import { StoreWatch } from '../health/StoreWatch.ts';
import { systemClock } from '../ports/clock.ts';
import type { Role } from '../settings.ts';
import type { OpenStores } from './requests/openApiPorts.ts';

/** What the roles of a process tell of themselves. */
export interface RoleReports {
  /** Roles whose own thread does not get on. */
  failing(): Role[];
  findings(): Finding[];
}

/** How a process does, looked after. */
export interface HealthWatch {
  /** Never rejects. */
  processState(): Promise<ProcessState>;
  close(): void;
}

/** Looks after the stores, the clock and the read models, and tells operators of what is the matter. */
export function watchHealth(stores: OpenStores, logger: Logger, roles: RoleReports): HealthWatch {
  const { eventLog, readModels } = stores;
  const storeWatch = new StoreWatch(stores, logger);
  const clockWatch = new ClockWatch(eventLog, logger);
  const readModelWatch = new ReadModelWatch(eventLog, readModels, systemClock);
  return {
    async processState() {
      const states = await storeWatch.states();
      const hasLog = states.event_log === 'ok';
      const hasModels = hasLog && states.read_models === 'ok';
      // What cannot be found out is what a store that is away would tell.
      const [clockFinding, behind] = await Promise.all([
        hasLog ? clockProblem(eventLog, systemClock).catch(() => undefined) : undefined,
        hasModels ? readModelWatch.findings().catch(() => []) : [],
      ]);
      return {
        stores: states,
        failingRoles: new Set([
          ...roles.failing(),
          ...(hasModels && readModelWatch.standStill ? (['projector'] as const) : []),
        ]),
        findings: [...(clockFinding ? [clockFinding] : []), ...behind, ...roles.findings()],
      };
    },
    close() {
      readModelWatch.close();
      clockWatch.close();
      storeWatch.close();
    },
  };
}
