import type { Logger } from 'pino';
import {
  ClockWatch,
  clockProblem,
  type Finding,
  type ProcessState,
  ReadModelWatch,
  StoreWatch,
} from '../modules/health.ts';
import type { Role } from '../platform/settings.ts';
import { systemClock } from '../storage/rateLimiters.ts';
import type { OpenStores } from './requestServer.ts';

/** What the roles of a process report about themselves. */
interface RoleReports {
  /** Roles whose own thread is not making progress. */
  failing(): Role[];
  findings(): Finding[];
}

/** Watches the health of a process. */
interface HealthWatch {
  /** Never rejects. */
  processState(): Promise<ProcessState>;
  close(): void;
}

/** Watches the stores, the clock and the read models, and reports problems to operators. */
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
      // What cannot be determined counts as with an unavailable store.
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
