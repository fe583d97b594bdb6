import type { Request, Response } from 'express';
import { toldByClient } from '../../api/server/exchange.ts';
import type { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import type { Workspace } from '../../modules/auth/keyState.ts';
import { roleIn, type User } from '../../modules/auth/user.ts';
import type { Visit } from '../components/route.ts';
import { csrfField } from './csrf.ts';

interface VisitFacts {
  requestId: string;
  clientIp: string;
  /** Undefined when nobody is signed in. */
  user: User | undefined;
}

/** Creates a request to the dashboard, as its pages see it. */
export function createVisit(req: Request, res: Response, { requestId, clientIp, user }: VisitFacts): Visit {
  return {
    req,
    res,
    requestId,
    clientIp,
    get user() {
      if (user === undefined) throw new Error('nobody is signed in');
      return user;
    },
    get workspace() {
      const { workspace } = req.params;
      if (typeof workspace !== 'string') throw new Error('the path names no workspace');
      return workspace;
    },
    get actor() {
      return {
        principal: { type: 'user' as const, id: this.user.id },
        requestId,
        clientIp,
        ...toldByClient(req),
      };
    },
    get role() {
      return user && roleIn(user, req.params.workspace as string | undefined);
    },
    may(roles, workspace = req.params.workspace as string | undefined) {
      const role = user && roleIn(user, workspace);
      return role !== undefined && roles.includes(role);
    },
    get caller() {
      return { ...this.actor, requestId, workspace: this.workspace };
    },
    form: req.body ?? {},
    get csrf() {
      return csrfField(req, res);
    },
    notice(text) {
      req.session.notices = [...(req.session.notices ?? []), text];
    },
  };
}

/** Returns the workspaces in which a user has a role. */
export function workspacesOf({ known }: Pick<KeyDirectory, 'known'>, user: User): Workspace[] {
  return [...known.workspaces.values()].filter(({ id }) => roleIn(user, id) !== undefined);
}
