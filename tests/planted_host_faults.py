"""Faults in the host's part, the map of ids and the records to plant in a good merged folder; see `planted_faults`."""

from tests.merged_folder import MergedFolder
from tests.planted_faults import conversation, fault

# The map of ids, and the host


@fault("id_map.json, conv-2", "id map", "it is missing; it must be {'sessions'")
def sample_without_a_map(folder: MergedFolder) -> None:
    del folder.id_map["conv-2"]


@fault("id_map.json, conv-1", "id map", "'3' of 'sessions' is 7; it must be 8")
def two_sessions_become_one(folder: MergedFolder) -> None:
    folder.id_map["conv-1"]["sessions"]["3"] = 7


@fault("id_map.json, conv-1", "id map", "'2' of 'sessions' is 3; it must be 7")
def map_onto_an_inserted_session(folder: MergedFolder) -> None:
    folder.id_map["conv-1"]["sessions"]["2"] = 3


@fault("id_map.json, conv-1", "id map", "'D2:1' of 'turns' is 'D7:2'; it must be 'D7:1'")
def turns_that_change_places(folder: MergedFolder) -> None:
    turns = folder.id_map["conv-1"]["turns"]
    turns["D2:1"], turns["D2:2"] = turns["D2:2"], turns["D2:1"]


@fault("session_7, turn 1 (D7:1)", "host", "its 'text'", "LoCoMo has", "Sunday")
def host_words_changed(folder: MergedFolder) -> None:
    folder.session(7)[0]["text"] = "We hiked up the hill on Monday."


@fault("session_7, turn 1 (D7:1)", "host", "its 'speaker'")
def host_speaker_changed(folder: MergedFolder) -> None:
    folder.session(7)[0]["speaker"] = "Ben"


@fault("session_7, turn 1 (D7:1)", "host", "its 'img_url'")
def host_photo_changed(folder: MergedFolder) -> None:
    folder.session(7)[0]["img_url"] = ["https://example.org/another.jpg"]


@fault("conv-1, session_8", "host", "its date: [host] it is '10:31 am on 20 May, 2023'; LoCoMo has '10:30")
def host_date_changed(folder: MergedFolder) -> None:
    conversation(folder)["session_8_date_time"] = "10:31 am on 20 May, 2023"


@fault("conv-1, session_8, turn 3 (D8:3)", "host", "it is missing; LoCoMo has")
def host_turn_lost(folder: MergedFolder) -> None:
    folder.session(8).pop()


@fault("conv-1, session_9", "host", "its date: [host] it is missing; LoCoMo has '8:00 am on 2 June, 2023'")
def date_without_session_lost(folder: MergedFolder) -> None:
    del conversation(folder)["session_9_date_time"]


@fault("conv-1, conversation, speaker_a", "host", "it is 'A'")
def speakers_named_a_and_b(folder: MergedFolder) -> None:
    conversation(folder)["speaker_a"] = "A"


@fault("question conv-1/2", "host", "'evidence' is ['D7:1']; LoCoMo has ['D7:1; D7:2']")
def host_evidence_lost(folder: MergedFolder) -> None:
    folder.question("conv-1/2")["evidence"] = ["D7:1"]


@fault("question conv-1/1", "host", "its 'answer'")
def host_answer_changed(folder: MergedFolder) -> None:
    folder.question("conv-1/1")["answer"] = "knitting"


@fault("question conv-1/1", "host", "it is missing; LoCoMo has")
def host_question_lost(folder: MergedFolder) -> None:
    folder.benchmark[0]["qa"].pop(0)


@fault("conv-1, observation", "host", "'session_7_observation'", "'D2:1']; LoCoMo has", "'D7:1']")
def observation_in_the_old_count(folder: MergedFolder) -> None:
    facts = folder.benchmark[0]["observation"]["session_7_observation"]
    facts["Ann"][0][1] = "D2:1"


@fault("conv-1, session_summary", "host", "its 'session_7_summary' is missing")
def summary_lost(folder: MergedFolder) -> None:
    del folder.benchmark[0]["session_summary"]["session_7_summary"]


# The records of the folder


@fault("statistics.json", "records", "its 'photos' of 'total' is 99; by the benchmark it must be 12")
def wrong_statistics(folder: MergedFolder) -> None:
    folder.statistics["total"]["photos"] = 99


@fault("run.json", "records", "did not reach its end")
def unfinished_run(folder: MergedFolder) -> None:
    folder.run["finished"] = False


@fault("run.json", "records", "a path of one machine", "/home/ann")
def path_of_a_machine(folder: MergedFolder) -> None:
    folder.run["settings"]["out"] = "/home/ann/out"


@fault("questions.jsonl", "records", "is 'stripes'; by the benchmark it must be 'zigzag'")
def rows_of_another_set(folder: MergedFolder) -> None:
    file = folder.path / "questions.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace('"zigzag"', '"stripes"'), encoding="utf-8")


@fault("README.md", "schema", "not there")
def no_card(folder: MergedFolder) -> None:
    (folder.path / "README.md").unlink()
