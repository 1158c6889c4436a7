//! From the first byte to the first ReadyForQuery: identification and authentication.

use std::{collections::BTreeMap, net::IpAddr};

use bytes::Bytes;
use pgwire::messages::startup::{
    Authentication, BackendKeyData, NegotiateProtocolVersion, SecretKey, Startup as PgStartup,
};
use types::{SqlError, SqlState};

use super::{Shared, options};
use crate::{
    protocol::{Greeting, Packet, Phase},
    scram::{Exchange, MECHANISM, Verifier},
    session::{Backend, Session, Startup},
    wire::{Ended, Wire},
};

/// Requests for encryption that are answered: one for each existing kind.
const ENCRYPTION_REQUESTS_MAX: u32 = 2;

impl From<SqlError> for Ended {
    fn from(error: SqlError) -> Ended {
        Ended::Fatal(error)
    }
}

/// Returns the session of a client that has been authenticated.
///
/// # Errors
/// Fails if the client was not authenticated, is gone, or asked for something else.
pub(super) async fn shake_hands<B: Backend>(
    shared: &Shared<B>,
    context: B::Context,
    wire: &mut Wire,
    peer: IpAddr,
    refused: bool,
) -> Result<B::Session, Ended> {
    let greeting = greet(shared, wire).await?;
    negotiate(wire, &greeting);
    if refused {
        return Err(SqlError::new(
            SqlState::TOO_MANY_CONNECTIONS,
            "sorry, too many clients already",
        )
        .into());
    }
    let startup = introduce(greeting.parameters, peer, wire)?;
    authenticate(shared, &context, wire, &startup).await?;
    let session = shared.backend.open(context, startup).await?;
    let Wire {
        output,
        control,
        conversation,
        ..
    } = wire;
    output.encode(&Authentication::Ok);
    session.parameters(&mut |name, value| output.parameter_status(name, value));
    output.encode(&BackendKeyData::new(
        control.process(),
        SecretKey::I32(control.secret()),
    ));
    output.ready_for_query(session.status());
    wire.flushes = true;
    conversation.enter(Phase::Ready);
    Ok(session)
}

/// Reads the first messages of a client.
async fn greet<B>(shared: &Shared<B>, wire: &mut Wire) -> Result<Greeting, Ended> {
    let mut encryption_requests = 0;
    loop {
        match wire.conversation.packet()? {
            None => wire.receive().await?,
            Some(Packet::Encryption) => {
                encryption_requests += 1;
                if encryption_requests > ENCRYPTION_REQUESTS_MAX {
                    return Err(Ended::Lost);
                }
                wire.output.no_encryption();
                wire.flushes = true;
            }
            Some(Packet::Cancel { process, secret }) => {
                // The client is not told whether the numbers were right: it would help to guess.
                shared.connections.cancel(process, secret);
                return Err(Ended::Lost);
            }
            Some(Packet::Start(greeting)) => return Ok(greeting),
        }
    }
}

/// Tells a client that is newer than this server which version and options there are.
fn negotiate(wire: &mut Wire, greeting: &Greeting) {
    let unknown = greeting.unknown_options();
    if greeting.minor > 0 || !unknown.is_empty() {
        let newest = PgStartup::PROTOCOL_VERSION_3_0;
        wire.output
            .encode(&NegotiateProtocolVersion::new(newest, unknown));
    }
}

fn introduce(
    mut parameters: BTreeMap<String, String>,
    peer: IpAddr,
    wire: &Wire,
) -> Result<Startup, Ended> {
    parameters.retain(|name, _| !name.starts_with("_pq_."));
    let user = parameters.remove("user").filter(|user| !user.is_empty());
    let user = user.ok_or_else(|| {
        SqlError::new(
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            "no PostgreSQL user name specified in startup packet",
        )
    })?;
    let replication = parameters.remove("replication");
    if !matches!(
        replication.as_deref(),
        None | Some("false" | "off" | "no" | "0")
    ) {
        return Err(SqlError::unsupported("the replication protocol").into());
    }
    let database = parameters
        .remove("database")
        .filter(|name| !name.is_empty());
    let options = parameters.remove("options").unwrap_or_default();
    let mut settings: BTreeMap<_, _> = options::parse(&options)?.into_iter().collect();
    // A parameter of its own takes precedence over `options`.
    settings.extend(parameters);
    Ok(Startup {
        database: database.unwrap_or_else(|| user.clone()),
        user,
        settings,
        peer,
        control: wire.control.clone(),
    })
}

/// Authenticates a client. Without a verifier for the user, clients of the machine itself are
/// trusted; all others have to prove that they know the password.
async fn authenticate<B: Backend>(
    shared: &Shared<B>,
    context: &B::Context,
    wire: &mut Wire,
    startup: &Startup,
) -> Result<(), Ended> {
    let verifier = match shared.backend.verifier(context, &startup.user).await? {
        Some(verifier) => verifier,
        None if startup.peer.to_canonical().is_loopback() => return Ok(()),
        None => Verifier::nobody(&shared.secret, &startup.user),
    };
    wire.conversation.enter(Phase::Authenticating);
    wire.output
        .encode(&Authentication::SASL(vec![MECHANISM.to_owned()]));
    let first = answer(wire).await?;
    let (exchange, challenge) = Exchange::begin(verifier, &first)?;
    wire.output
        .encode(&Authentication::SASLContinue(Bytes::from(challenge)));
    let last = answer(wire).await?;
    let Some(signature) = exchange.finish(&last)? else {
        return Err(SqlError::new(
            SqlState::INVALID_PASSWORD,
            format!(
                "password authentication failed for user \"{}\"",
                startup.user
            ),
        )
        .into());
    };
    wire.output
        .encode(&Authentication::SASLFinal(Bytes::from(signature)));
    Ok(())
}

/// Sends the challenge and waits for the answer.
async fn answer(wire: &mut Wire) -> Result<Vec<u8>, Ended> {
    wire.flushes = true;
    loop {
        // Copied, since it is used while the wire is borrowed; there are two answers per
        // connection.
        if let Some(body) = wire.conversation.answer()? {
            return Ok(body.to_vec());
        }
        wire.receive().await?;
    }
}
