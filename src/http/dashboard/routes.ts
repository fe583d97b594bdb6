import type { RateLimiters } from '../../ports/rateLimiters.ts';
import type { UserDirectory } from '../../users/UserDirectory.ts';
import type { AppPorts } from '../routes/index.ts';
import { homeRoutes } from './pages/home.ts';
import type { DashboardRoute } from './route.ts';

export interface DashboardPorts extends AppPorts {
  users: UserDirectory;
  limiters: RateLimiters;
}

/** Every page of the dashboard. */
export function dashboardRoutes(ports: DashboardPorts): DashboardRoute[] {
  return [...homeRoutes(ports)];
}
