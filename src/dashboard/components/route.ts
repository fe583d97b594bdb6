import type { Readable } from 'node:stream';
import type { Request, Response } from 'express';
import type { Actor, Caller } from '../../domain/events/newEvent.ts';
import type { Role, User } from '../../modules/auth/user.ts';
import type { ServiceError } from '../../platform/errors.ts';
import type { Html } from './html.ts';

/** Who may open a page: users with one of these roles. */
export const everyone: readonly Role[] = ['admin', 'compliance', 'billing', 'integrator', 'viewer'];
/** Records, documents, readiness. */
export const recordReaders: readonly Role[] = ['admin', 'compliance', 'billing'];
/** Refused requests, messages without their content, sources. */
export const requestReaders: readonly Role[] = ['admin', 'compliance', 'integrator'];
/** Everything that is read: also the audit trail, disclosures, evidence, and messages as received. */
export const phiReaders: readonly Role[] = ['admin', 'compliance'];
/** Legal holds. */
export const holdKeepers: readonly Role[] = ['admin', 'compliance'];
/** Keys, webhooks, sources. */
export const integrators: readonly Role[] = ['admin', 'integrator'];
export const admins: readonly Role[] = ['admin'];

/** Who changes who gets in, where data go, whether a clinic can send, or what can be erased. */
const changers: readonly (readonly Role[])[] = [holdKeepers, integrators, admins];

/** One page of the dashboard, or one action of a form. */
export interface DashboardRoute {
  method: 'get' | 'post';
  /** Below `/dashboard`; a segment `:workspace` is the id of an existing workspace. */
  path: string;
  /**
   * Who may open it: anybody, every signed-in user, or users who have one of these roles in the workspace of the path;
   * without one, in all workspaces.
   */
  roles: 'public' | 'signed-in' | readonly Role[];
  /** The path names a workspace, but the role counts that the user has in all workspaces. */
  isInstallationWide?: boolean | undefined;
  /** The query parameters that the page accepts; any other is refused. Without them a query is ignored. */
  query?: readonly string[];
  /** Requested by the page, not by the user: it does not prolong the session. */
  isBackground?: boolean;
  /** An action for others than these that requires a fresh proof of the user's identity (`needsProof`). */
  isSensitive?: boolean;
  /** The path of the page with its form, where there is no page at its own. */
  page?: string;
  /** Its form is on every page: if sent too late, it is filled in again on the page of its own address. */
  isOnEveryPage?: boolean;
  /** Open to users who first have to set up an authenticator app. */
  isForSetup?: boolean;
  handle(visit: Visit): Promise<Reply>;
}

/**
 * Whether a route requires a fresh proof of the user's identity: every action that only those may take who change
 * something (`changers`), and those that let out as much.
 */
export function needsProof({ method, roles, isSensitive = false }: DashboardRoute): boolean {
  return isSensitive || (method === 'post' && typeof roles !== 'string' && changers.includes(roles));
}

/**
 * Returns the workspace in which a user needs a role to open a route with these parameters; undefined: in all
 * workspaces.
 */
export function scopeOf({ isInstallationWide }: DashboardRoute, { params }: Request): string | undefined {
  return isInstallationWide ? undefined : (params.workspace as string | undefined);
}

/** One request to the dashboard: who sent it, and about what. */
export interface Visit {
  req: Request;
  res: Response;
  requestId: string;
  clientIp: string;
  /** Throws on a public page. */
  readonly user: User;
  /** The workspace in the path; throws on a page without one. */
  readonly workspace: string;
  /** The user, for operations that change keys, workspaces or users. */
  readonly actor: Actor;
  /** The user's role in the workspace of the path; without one, in all workspaces. Undefined: none. */
  readonly role: Role | undefined;
  /** Whether the user has one of these roles in a workspace, by default that of the path; without one, in all workspaces. */
  may(roles: readonly Role[], workspace?: string): boolean;
  /** The user in that workspace. */
  readonly caller: Caller;
  /** The fields of a form that was sent. */
  form: Record<string, string | string[] | undefined>;
  /** A hidden field that every form contains. */
  readonly csrf: Html;
  /** Shown once, on the next page. */
  notice(text: string): void;
}

export interface Page {
  title: string;
  /** The entry of the menu to which the page belongs, by its name. */
  section?: string;
  body: Html;
  /** Default 200. */
  status?: number;
  /** What the page reports, for the log. */
  error?: ServiceError;
}

/** What a page returns. `redirect` is a path below `/dashboard`, or the address of an identity provider. */
export type Reply =
  | { page: Page }
  | { fragment: Html }
  | { redirect: string }
  /** `isShown`: for a frame in a page of the dashboard, not to be saved. */
  | { download: { type: string; name: string; body: Readable; isShown?: boolean } };
