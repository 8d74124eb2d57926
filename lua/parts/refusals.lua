-- refusals.lua: handles a step that Redis refuses because a key has another type or a right is missing. The other
-- steps go on, and the answer names the refused one.

local function words_of(problem)
  return type(problem) == 'table' and problem.err or tostring(problem)
end

-- Takes nothing from a queue with such a key; it is looked at again in a second.
local function skip(turn, queue, place, problem)
  turn.skipped = turn.skipped or {}
  local skipped = turn.skipped
  skipped[#skipped + 1], skipped[#skipped + 2] = place, words_of(problem)
  queue.skipped = true
end

-- An outcome was not written: its job stays reserved. `result`: 0 if the reservation is gone.
local function not_settled(turn, place, result)
  if result == 0 then
    turn.lost = turn.lost or {}
    turn.lost[#turn.lost + 1] = place
  else
    turn.unsettled = turn.unsettled or { words_of(result) }
    turn.unsettled[#turn.unsettled + 1] = place
  end
end

-- The error for the whole call, if nothing was settled, reserved or set aside. Nil: something was, or an outcome would
-- go to a key of another type, which must not hold up others whose outcomes are in this call.
local function refusal_of_all(turn, outcomes, sources)
  local unsettled, skipped = turn.unsettled, turn.skipped
  if turn.taken > 0 or turn.aside then return nil end
  if unsettled then
    return #unsettled - 1 == outcomes and not find(unsettled[1], 'WRONGTYPE', 1, true) and unsettled[1] or nil
  end
  if skipped and outcomes == 0 and (skipped[1] == 0 or #skipped == 2 * sources) then return skipped[2] end
end

local function tell_of(turn)
  local news = turn.news
  for _, word in ipairs({ 'lost', 'unsettled', 'skipped', 'aside' }) do
    if turn[word] then news[#news + 1], news[#news + 2] = word, turn[word] end
  end
end
