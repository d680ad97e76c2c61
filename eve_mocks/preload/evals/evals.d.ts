/** JSON, as mocks answer with it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** What an answer of a mock file may have. Without any of it, the answer is `null`. */
export interface Outcome {
  readonly response?: Json;
  readonly status?: number;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
  readonly throw?: { readonly message: string; readonly name?: string };
  /** Seconds, or a text such as `"250ms"`. */
  readonly delay?: number | string;
  readonly fault?: string;
}

/** Made by {@link outcome}. */
export interface Outcomes {
  readonly entries: readonly Outcome[];
}

/** Answers each call by its input: the arguments of a tool, or the parameters and the `body` of an http operation. */
export type Answer = (input: { readonly [name: string]: Json }) => Result | Promise<Result>;
type Result = Json | Outcomes | typeof pass;

/** The `t` of an eval of eve. */
export interface EvalContext {
  session(...options: never[]): Promise<HasSession>;
  send(...message: never[]): Promise<unknown>;
}

/** A session or a turn of eve, or what {@link session} gives. */
export interface HasSession {
  readonly sessionId: string;
}

export declare const pass: unique symbol;

export function outcome(...entries: readonly [Outcome, ...Outcome[]]): Outcomes;

/** An unknown operation fails the next `t.session` or `send`. */
export function mock(t: EvalContext, operation: string, answer: Json | Outcomes | Answer): void;
export function mock(session: HasSession | string, operation: string, answer: Json | Outcomes | Answer): Promise<void>;

/** A mock without a state fails the next `t.session` or `send`. */
export function seed(t: EvalContext, mock: string, state: Json): void;
export function seed(session: HasSession | string, mock: string, state: Json): Promise<void>;

export function getState<T = Json>(turn: HasSession | string, mock: string): Promise<T>;

/** Lines as in `calls.jsonl`, each with its `input`, `failed` and `isAction`. */
export function getCalls(turn: HasSession | string): Promise<{ readonly [key: string]: Json }[]>;

export function session<T>(
  options: { readonly id?: string; readonly stubs?: readonly Json[]; readonly seeds?: { readonly [mock: string]: Json } },
  work: (session: HasSession) => T | Promise<T>,
): Promise<T>;
