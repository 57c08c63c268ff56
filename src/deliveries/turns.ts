import { Chain, type Link } from "./chain.ts";

/** A team of which somebody waits or something is under way. */
type Team<Waiting> = {
  id: string;
  underWay: number;
  /** In the order in which they have their turns. */
  waiting: Chain<Waiting>;
  /** Its place among the teams that have as many under way, while somebody of it waits. */
  place: Link<Team<Waiting>> | undefined;
};

/**
 * Whose turn it is among those that wait for a place. The team with the fewest under way comes first, teams with as many
 * go round, and so do those who wait within a team: so one that asks for a thousand places gets no more than one that
 * asks for as many as it can get. A turn costs the same, however many teams there are and however many wait.
 */
export class Turns<Waiting extends { teamId: string }> {
  readonly #teams = new Map<string, Team<Waiting>>();
  /** The teams of which somebody waits, by how many each has under way. */
  readonly #levels: Chain<Team<Waiting>>[] = [];
  /** No team of which somebody waits has fewer under way. */
  #lowest = 0;
  #waiting = 0;

  /** How many wait. */
  get length(): number {
    return this.#waiting;
  }

  /** How many the team has under way. */
  inFlight(teamId: string): number {
    return this.#teams.get(teamId)?.underWay ?? 0;
  }

  /** How many the team has under way whose turn it is, or undefined when nobody waits. */
  get fewest(): number | undefined {
    return this.#next()?.underWay;
  }

  /** Has it wait behind all others of its team. Returns its place, by which it can be taken out. */
  push(waiting: Waiting): Link<Waiting> {
    const team = this.#team(waiting.teamId);
    const link = team.waiting.push(waiting);
    this.#waiting++;
    if (!team.place) this.#stand(team);
    return link;
  }

  /** Takes out one that waits here. */
  remove(link: Link<Waiting>): void {
    const team = this.#team(link.value.teamId);
    team.waiting.remove(link);
    this.#waiting--;
    if (team.waiting.first) return;
    this.#leave(team);
    this.#stand(team);
  }

  /** Takes out the one whose turn it is. Its team comes next after the others with as many under way. */
  shift(): Waiting | undefined {
    const team = this.#next();
    if (!team) return undefined;
    const waiting = team.waiting.shift();
    this.#waiting--;
    this.#leave(team);
    this.#stand(team);
    return waiting;
  }

  /** Notes that the team has one more under way. */
  begin(teamId: string): void {
    this.#count(this.#team(teamId), 1);
  }

  /** Notes that it has one less. */
  end(teamId: string): void {
    this.#count(this.#team(teamId), -1);
  }

  #team(id: string): Team<Waiting> {
    let team = this.#teams.get(id);
    if (!team) {
      team = { id, underWay: 0, waiting: new Chain(), place: undefined };
      this.#teams.set(id, team);
    }
    return team;
  }

  #next(): Team<Waiting> | undefined {
    if (this.#waiting === 0) return undefined;
    while (!this.#levels[this.#lowest]?.first) this.#lowest++;
    return this.#levels[this.#lowest]?.first?.value;
  }

  #count(team: Team<Waiting>, change: 1 | -1): void {
    this.#leave(team);
    team.underWay += change;
    this.#stand(team);
  }

  #leave(team: Team<Waiting>): void {
    if (team.place) this.#levels[team.underWay]?.remove(team.place);
    team.place = undefined;
  }

  /** Puts the team where it belongs by now: behind those with as many under way, or away when nothing is left of it. */
  #stand(team: Team<Waiting>): void {
    if (team.waiting.first) {
      this.#lowest = Math.min(this.#lowest, team.underWay);
      team.place = (this.#levels[team.underWay] ??= new Chain()).push(team);
    } else if (team.underWay === 0) this.#teams.delete(team.id);
  }
}
