// Who submitted a project: a link to the member's page, which a deleted account does not have.
const DELETED = /^deleted-\d/;

export function Owner({ name }: { name: string }) {
  return DELETED.test(name) ? <span>{name}</span> : <a href={`/users/${name}`}>{name}</a>;
}
