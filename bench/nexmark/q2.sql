-- Bids on every 123rd auction.
CREATE TABLE answers (
    auction BIGINT, price BIGINT
) WITH (${SINK});

INSERT INTO answers
SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
