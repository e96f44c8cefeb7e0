// A requester who works with Amazon's SDK for JavaScript, as anyone would write it for Amazon's endpoint.
//     node requester.mjs publish QUESTION | review HIT_ID | mistakes
// Prints one JSON object: what the SDK made of the answers.
import * as sdk from "@aws-sdk/client-mturk";

const mturk = new sdk.MTurkClient({});
const call = (operation, input) => mturk.send(new sdk[`${operation}Command`](input));

async function publish(question) {
  const made = await call("CreateQualificationType", {
    Name: "Häufige Leser 📚",
    Description: "Has read a lot.",
    QualificationTypeStatus: "Active",
  });
  const { HIT: hit } = await call("CreateHIT", {
    Title: "Rate a sentence: „schön“ 😀",
    Description: "Read one sentence.",
    Keywords: "language, rating",
    Reward: "0.50",
    MaxAssignments: 3,
    AssignmentDurationInSeconds: 600,
    LifetimeInSeconds: 3600,
    AutoApprovalDelayInSeconds: 86400,
    Question: question,
    UniqueRequestToken: "only-once",
    QualificationRequirements: [
      {
        QualificationTypeId: "00000000000000000071",
        Comparator: "In",
        LocaleValues: [{ Country: "US" }, { Country: "DE" }],
        ActionsGuarded: "Accept",
      },
    ],
  });
  const lifetime = hit.Expiration.getTime() - hit.CreationTime.getTime();
  return { hit, lifetime, type: made.QualificationType.QualificationTypeId, named: made.QualificationType.Name };
}

async function review(hitId) {
  const pages = [];
  const assignments = [];
  for await (const page of sdk.paginateListAssignmentsForHIT({ client: mturk, pageSize: 2 }, { HITId: hitId })) {
    pages.push(page.NumResults);
    assignments.push(...page.Assignments);
  }
  const [good, better, bad] = assignments;
  await call("ApproveAssignment", { AssignmentId: good.AssignmentId, RequesterFeedback: "Schön." });
  await call("ApproveAssignment", { AssignmentId: better.AssignmentId });
  await call("RejectAssignment", { AssignmentId: bad.AssignmentId, RequesterFeedback: "Empty." });
  const bonus = { AssignmentId: better.AssignmentId, WorkerId: better.WorkerId, BonusAmount: "1.25", Reason: "Best." };
  await call("SendBonus", { ...bonus, UniqueRequestToken: "bonus-once" });
  const paid = await call("ListBonusPayments", { AssignmentId: better.AssignmentId });
  await call("UpdateExpirationForHIT", { HITId: hitId, ExpireAt: new Date(0) });
  const { HIT: expired } = await call("GetHIT", { HITId: hitId });
  await call("DeleteHIT", { HITId: hitId });
  const statuses = [];
  for (const each of assignments) {
    const { Assignment: now } = await call("GetAssignment", { AssignmentId: each.AssignmentId });
    statuses.push(now.AssignmentStatus);
  }
  return { pages, statuses, answer: good.Answer, paid: paid.BonusPayments, state: expired.HITStatus };
}

async function mistakes() {
  const told = [];
  for (const [operation, input] of [
    ["GetHIT", { HITId: "3NOSUCHTHING" }],
    ["SendBonus", { AssignmentId: "3A", WorkerId: "A1", BonusAmount: "0.10", Reason: "?" }],
    ["GetHIT", { HITId: "no id" }],
  ]) {
    try {
      await call(operation, input);
      told.push({ operation });
    } catch (error) {
      const { name, TurkErrorCode: code, message, $metadata: metadata } = error;
      const modelled = error instanceof sdk.MTurkServiceException;
      told.push({ name, code, message, modelled, status: metadata.httpStatusCode, tries: metadata.attempts });
    }
  }
  return { told };
}

const [what, argument] = process.argv.slice(2);
console.log(JSON.stringify(await { publish, review, mistakes }[what](argument)));
